// What every picture stands on: escaping, colours, axes.

#include <gtest/gtest.h>

#include <cmath>

#include "report/axis.hpp"
#include "report/colour.hpp"
#include "report/html.hpp"
#include "report/svg.hpp"

namespace galvatron::report {
namespace {

TEST(Escaped, LeavesNoMarkupAndNoBrokenBytes) {
  EXPECT_EQ(escaped("<b a='1'>\"&"), "&lt;b a=&#39;1&#39;&gt;&quot;&amp;");
  EXPECT_EQ(escaped("Grüße → 三"), "Grüße → 三");
  EXPECT_EQ(escaped("a\nb\tc"), "a\nb\tc");
  EXPECT_EQ(escaped(std::string("a\0b\x1b[0m", 7)), "a\uFFFDb\uFFFD[0m");
  EXPECT_EQ(escaped("\xff\xc3"), "\uFFFD\uFFFD") << "no UTF-8";
  EXPECT_EQ(escaped("\xc0\xbc"), "\uFFFD\uFFFD") << "an overlong <";
  EXPECT_EQ(escaped("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD") << "a surrogate";
}

/// Relative luminance of "#rrggbb" (WCAG 2).
double luminance(const std::string& colour) {
  const auto channel = [&](size_t at) {
    const double v = std::stoi(colour.substr(at, 2), nullptr, 16) / 255.0;
    return v <= 0.03928 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

TEST(Ramp, DarkensInEvenSteps) {
  const auto lightness = [](double t) { return 116 * std::cbrt(luminance(ramp(t))) - 16; };
  for (int i = 0; i < 20; ++i) {
    const double step = lightness(i / 20.0) - lightness((i + 1) / 20.0);
    EXPECT_NEAR(step, 3.5, 1.5) << "from " << i / 20.0;
  }
  EXPECT_EQ(ramp(-1), ramp(0));
  EXPECT_EQ(ramp(2), ramp(1));
}

TEST(Ramp, CarriesReadableInk) {
  for (int i = 0; i <= 20; ++i) {
    const double t = i / 20.0, field = luminance(ramp(t));
    const double ink = ink_on_ramp(t) == "#fff" ? 1.0 : 0.0;
    const double contrast = (std::max(field, ink) + 0.05) / (std::min(field, ink) + 0.05);
    EXPECT_GE(contrast, 4.5) << "at " << t << ", " << ramp(t);
  }
}

TEST(Axis, TicksAreRoundAndInside) {
  const auto axis = Axis::rounded(Scale::linear, 0.3, 9.1);
  EXPECT_DOUBLE_EQ(axis.low, 0);
  EXPECT_DOUBLE_EQ(axis.high, 10);
  EXPECT_EQ(axis.ticks(5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  const auto log = Axis::rounded(Scale::logarithmic, 0.0012, 30);
  EXPECT_DOUBLE_EQ(log.low, 0.001);
  EXPECT_DOUBLE_EQ(log.high, 50);
  for (const double tick : log.ticks(6))
    EXPECT_TRUE(log.at(tick) >= -1e-9 && log.at(tick) <= 1 + 1e-9) << tick;
  EXPECT_EQ(plain_label(Axis(Scale::linear, -1, 1).ticks(2)[1]), "0");
}

TEST(Axis, SurvivesWhatIsNoRange) {
  for (const auto scale : {Scale::linear, Scale::logarithmic})
    for (const double low : {0.0, 5.0, std::nan("")})
      for (const double high : {0.0, 5.0, std::nan(""), HUGE_VAL}) {
        const Axis axis(scale, low, high);
        EXPECT_LT(axis.low, axis.high) << low << " … " << high;
        EXPECT_LT(axis.ticks(6).size(), 50u) << low << " … " << high;
      }
}

TEST(Svg, CutsTextsBetweenLetters) {
  EXPECT_EQ(fitted("short", 100), "short");
  const auto cut = fitted("äöüäöüäöüäöü", 50);
  EXPECT_LE(width_of(cut), 50 + 12);
  EXPECT_TRUE(cut.ends_with("…"));
  EXPECT_EQ(escaped(cut), cut) << "a letter was cut in two";
  EXPECT_EQ(fitted("long text", 3), "");
}

}  // namespace
}  // namespace galvatron::report
