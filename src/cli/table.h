// A table of text that lines up.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"

namespace slipway::cli {

struct Cell {
  Cell(std::string cell_text, Colour cell_colour = Colour::kNone)  // NOLINT(google-explicit-constructor)
      : text(std::move(cell_text)), colour(cell_colour) {}
  Cell(const char* cell_text) : text(cell_text) {}  // NOLINT(google-explicit-constructor)
  std::string text;
  Colour colour = Colour::kNone;
};

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  size_t least = 0;  // columns it keeps when the terminal is narrow; 0: it is never cut
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns.
  void add(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }
  // `width`: columns of the terminal; 0: nothing is cut. What comes from elsewhere is made printable here.
  std::string render(int width, bool colour) const;

 private:
  std::vector<size_t> widths(size_t limit) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// "name  value" lines under each other, names in one column. Lines of a value that has several are indented.
class Facts {
 public:
  void add(std::string name, std::string value, Colour colour = Colour::kNone);
  std::string render(bool colour) const;

 private:
  struct Fact {
    std::string name;
    std::string value;
    Colour colour;
  };
  std::vector<Fact> facts_;
};

// The values as a line of eight heights, newest at the right; at most `width` of them, evenly drawn.
// Not-a-numbers are blanks.
std::string sparkline(const std::vector<double>& values, size_t width);

}  // namespace slipway::cli
