// The page holds what a reader comes for, is well formed, needs nothing from elsewhere, and trusts nobody.

#include "report/page.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "unit/report/run_values.hpp"

namespace galvatron::report {
namespace {

using test::small_run;

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

/// What is wrong with the tags, or nothing.
std::string fault_of(const std::string& html) {
  std::vector<std::string> open;
  const std::regex tag("<(/?)([A-Za-z!0-9]+)((?:[^<>\"]|\"[^\"<>]*\")*?)(/?)>");
  const auto from = html.find("<main>"), to = html.find("</main>");
  const auto begin = html.begin() + static_cast<int64_t>(from), end = html.begin() + static_cast<int64_t>(to);
  for (auto it = std::sregex_iterator(begin, end, tag); it != std::sregex_iterator(); ++it) {
    const auto& m = *it;
    if (m[4].length() > 0) continue;
    if (m[1].length() == 0) {
      open.push_back(m[2]);
      continue;
    }
    if (open.empty()) return "nothing is open before " + m[0].str();
    if (open.back() != m[2]) return "<" + open.back() + "> is closed by " + m[0].str();
    open.pop_back();
  }
  return open.size() == 1 ? std::string() : "something is left open";
}

TEST(Page, HasEverySectionAndPicture) {
  const auto html = page(small_run());
  for (const char* section : {"run", "links", "collectives", "machine", "plan", "memory", "search", "time",
                              "loss", "end", "events", "deck"}) {
    EXPECT_EQ(count(html, std::string("<section id=\"") + section + "\""), 1u) << section;
    EXPECT_EQ(count(html, std::string("href=\"#") + section + "\""), 1u) << section;
  }
  for (const char* picture :
       {"map-isolated", "map-loaded", "map-latency", "link-curves", "collective-0", "peaks-products",
        "peaks-memory", "interference", "reserve", "plan", "memory", "candidates", "comparison",
        "timeline-predicted", "timeline-measured", "loss", "step-time"})
    EXPECT_EQ(count(html, std::string("aria-labelledby=\"") + picture + "-t"), 1u) << picture;
  for (const char* text : {"node0", "dp2", "20 % slower", "slow link", "no tp plan fits", "worse: rank 0",
                           "1234", "all-reduce, 4 ranks on 2 nodes, 1 MiB", "not offered here",
                           "2001-09-09 01:46:40 UTC", "checkpoint of step 20"})
    EXPECT_NE(html.find(text), std::string::npos) << text;
}

TEST(Page, IsWellFormed) {
  EXPECT_EQ(fault_of(page(small_run())), "");
  EXPECT_EQ(fault_of(page({})), "");
}

TEST(Page, EveryPictureIsTold) {
  const auto html = page(small_run());
  const auto pictures = count(html, "<svg ");
  EXPECT_EQ(count(html, "role=\"img\""), pictures);
  EXPECT_EQ(count(html, "<desc "), pictures);
  const std::regex id("id=\"([^\"]*)\"");
  std::set<std::string> seen;
  for (auto it = std::sregex_iterator(html.begin(), html.end(), id); it != std::sregex_iterator(); ++it)
    if (!(*it)[1].str().empty()) EXPECT_TRUE(seen.insert((*it)[1]).second) << "twice: " << (*it)[0];
}

TEST(Page, NeedsNothingElse) {
  const auto html = page(small_run());
  EXPECT_EQ(count(html, "<script"), 0u);
  EXPECT_EQ(count(html, "src="), 0u);
  EXPECT_EQ(count(html, "@import"), 0u);
  const std::regex address("https?://[^\"]*");
  for (auto it = std::sregex_iterator(html.begin(), html.end(), address); it != std::sregex_iterator(); ++it)
    EXPECT_EQ(it->str(), "http://www.w3.org/2000/svg");
}

TEST(Page, TrustsNoText) {
  const std::string evil = "\"><script>alert('x')</script>&<img onerror=x>";
  auto values = small_run();
  values.title = evil;
  values.failure = evil;
  values.head = {{evil, evil}};
  values.hardware->hosts = {evil, evil};
  for (auto& name : values.model->names) name += evil;
  for (auto* text : {&values.search_text, &values.deck_text}) *text = evil;
  values.verdicts = values.link_changes = {evil};
  values.counters = {{evil}, {evil}};
  values.counters_missing = evil;
  values.hardware->reserve_parts[evil] = 1;
  values.candidates[0].outline = values.candidates[0].remark = evil;
  values.collectives[0].name = values.collectives[0].shape = evil;
  values.measured_step[0].name = evil;
  values.events[0].kind = values.events[0].text = evil;
  values.ending->sections[0].name = evil;
  values.coverage[0].phase = values.coverage[0].unit = evil;
  values.plan->predictions[0].memory_terms[0].name = evil;
  values.plan->predictions[0].time_terms[0].name = evil;
  const auto html = page(values);
  EXPECT_EQ(count(html, "<script"), 0u);
  EXPECT_EQ(count(html, "<img"), 0u);
  EXPECT_GT(count(html, "&lt;script&gt;"), 10u);
  EXPECT_EQ(fault_of(html), "");
}

TEST(Page, IsTheSameForTheSameValues) {
  EXPECT_EQ(page(small_run()), page(small_run()));
}

TEST(Page, ShowsWhatThereIs) {
  RunValues values;
  values.title = "half a run";
  values.failure = "stopped in the profile";
  auto html = page(values);
  EXPECT_NE(html.find("stopped in the profile"), std::string::npos);
  EXPECT_NE(html.find("There is no plan."), std::string::npos);
  values.hardware = test::hardware_of(1, 1);
  html = page(values);
  EXPECT_NE(html.find("<svg"), std::string::npos) << "a curve, although there are no links";
  values.plan = test::plan_of(test::small_model(2), 1, 1, 1);
  values.model = test::small_model(2);
  values.plan->predictions.clear();
  EXPECT_EQ(fault_of(page(values)), "");
}

}  // namespace
}  // namespace galvatron::report
