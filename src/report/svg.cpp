// Numbers are printed with one decimal: a tenth of a pixel is less than anyone sees, and pages stay small.

#include "report/svg.hpp"

#include <algorithm>
#include <cmath>

#include "core/format.hpp"
#include "report/html.hpp"

namespace galvatron::report {
namespace {

using core::format;

std::string number(double value) {
  auto text = format("{:.1f}", std::abs(value) < 0.05 ? 0.0 : value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

/// Closes an element, with a tip in it where there is one.
std::string closed(std::string_view tip, std::string_view element) {
  if (tip.empty()) return "/>\n";
  return format("><title>{}</title></{}>\n", escaped(tip), element);
}

/// Characters, not bytes.
size_t letters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

Svg::Svg(std::string id, double width, double height, std::string_view title, std::string_view description)
    : id_(std::move(id)) {
  head_ = format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"{0}-t {0}-d\" viewBox=\"0 0 "
      "{1} "
      "{2}\" style=\"max-width:{1}px\">\n<title id=\"{0}-t\">{3}</title>\n<desc id=\"{0}-d\">{4}</desc>\n",
      id_, number(width), number(height), escaped(title), escaped(description));
}

void Svg::rect(const Box& box, std::string_view fill, std::string_view tip, std::string_view stroke) {
  body_ += format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"", number(box.x),
                  number(box.y), number(box.width), number(box.height), fill);
  if (!stroke.empty()) body_ += format(" stroke=\"{}\"", stroke);
  body_ += closed(tip, "rect");
}

void Svg::line(double x1, double y1, double x2, double y2, const Line& line) {
  body_ += format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"{}\"",
                  number(x1), number(y1), number(x2), number(y2), line.colour, number(line.width));
  if (!line.dash.empty()) body_ += format(" stroke-dasharray=\"{}\"", line.dash);
  body_ += "/>\n";
}

void Svg::path(const std::vector<std::pair<double, double>>& points, const Line& line, std::string_view tip) {
  if (points.empty()) return;
  body_ += "<polyline points=\"";
  for (size_t i = 0; i < points.size(); ++i)
    body_ += format("{}{},{}", i == 0 ? "" : " ", number(points[i].first), number(points[i].second));
  body_ += format("\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"", line.colour, number(line.width));
  if (!line.dash.empty()) body_ += format(" stroke-dasharray=\"{}\"", line.dash);
  body_ += closed(tip, "polyline");
}

void Svg::dot(double x, double y, double radius, std::string_view fill, std::string_view tip,
              std::string_view stroke) {
  body_ +=
      format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"", number(x), number(y), number(radius), fill);
  if (!stroke.empty()) body_ += format(" stroke=\"{}\" stroke-width=\"1.5\"", stroke);
  body_ += closed(tip, "circle");
}

void Svg::text(double x, double y, std::string_view text, const Ink& ink) {
  body_ += format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"", number(x), number(y),
                  number(ink.size), ink.colour);
  if (ink.anchor == Anchor::middle) body_ += " text-anchor=\"middle\"";
  if (ink.anchor == Anchor::end) body_ += " text-anchor=\"end\"";
  if (ink.turn != 0)
    body_ += format(" transform=\"rotate({} {} {})\"", number(ink.turn), number(x), number(y));
  body_ += ">" + escaped(text) + "</text>\n";
}

std::string Svg::stripes(const std::string& colour) {
  auto found = std::find(striped_.begin(), striped_.end(), colour);
  const auto index = found - striped_.begin();
  if (found == striped_.end()) {
    striped_.push_back(colour);
    defs_ += format(
        "<pattern id=\"{}-p{}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#fff\"/><rect width=\"3\" "
        "height=\"6\" "
        "fill=\"{}\"/></pattern>\n",
        id_, index, colour);
  }
  return format("url(#{}-p{})", id_, index);
}

std::string Svg::done() const {
  return head_ + (defs_.empty() ? "" : "<defs>" + defs_ + "</defs>\n") + body_ + "</svg>\n";
}

double width_of(std::string_view text, double size) {
  return 0.56 * size * static_cast<double>(letters(text));
}

std::string fitted(std::string_view text, double width, double size) {
  if (width_of(text, size) <= width) return std::string(text);
  const auto room = static_cast<size_t>(std::max(0.0, width / (0.56 * size) - 1));
  if (room < 2) return {};
  size_t end = 0;
  for (size_t letter = 0; end < text.size(); ++end) {
    if ((text[end] & 0xC0) == 0x80) continue;
    if (letter++ == room) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace galvatron::report
