#pragma once
// The primitives of all pictures. Coordinates are pixels of the drawing; the page scales it to its width.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace galvatron::report {

enum class Anchor { start, middle, end };

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

struct Line {
  std::string colour = "#111";
  double width = 1.5;
  std::string dash = {};
};

struct Ink {
  Anchor anchor = Anchor::start;
  double size = 12;
  std::string colour = "#222";
  double turn = 0;  ///< degrees, clockwise
};

/// Text is escaped; attributes that are given as text (colours, dashes) are the caller's own.
class Svg {
 public:
  /// `title` and `description` are what a screen reader says of the picture; `id` is unique on the page.
  Svg(std::string id, double width, double height, std::string_view title, std::string_view description);

  /// `tip`: what a pointer that rests there is told.
  void rect(const Box& box, std::string_view fill, std::string_view tip = {}, std::string_view stroke = {});
  void line(double x1, double y1, double x2, double y2, const Line& line);
  void path(const std::vector<std::pair<double, double>>& points, const Line& line,
            std::string_view tip = {});
  void dot(double x, double y, double radius, std::string_view fill, std::string_view tip = {},
           std::string_view stroke = {});
  void text(double x, double y, std::string_view text, const Ink& ink = {});
  /// Diagonal stripes of `colour` on white; to be used as a fill.
  std::string stripes(const std::string& colour);

  std::string done() const;

 private:
  std::string id_, head_, defs_, body_;
  std::vector<std::string> striped_;
};

/// Pixels that a text of this size takes, roughly: to know whether it fits.
double width_of(std::string_view text, double size = 12);
/// The text, or its beginning with an ellipsis where it is wider than `width` pixels.
std::string fitted(std::string_view text, double width, double size = 12);

}  // namespace galvatron::report
