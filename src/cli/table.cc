#include "cli/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "cli/quantities.h"

namespace slipway::cli {
namespace {

constexpr size_t kGap = 2;

std::string padded(const std::string& text, size_t width, Align align, Colour colour, bool colour_on) {
  const size_t columns = display_width(text);
  const std::string blanks(width > columns ? width - columns : 0, ' ');
  const std::string shown = paint(text, colour, colour_on);
  return align == Align::kLeft ? shown + blanks : blanks + shown;
}

void trim_right(std::string& line) {
  while (line.ends_with(' ')) line.pop_back();
}

}  // namespace

void Table::add(std::vector<Cell> cells) {
  for (Cell& cell : cells) cell.text = printable(cell.text);
  cells.resize(columns_.size(), Cell(""));
  rows_.push_back(std::move(cells));
}

std::vector<size_t> Table::widths(size_t limit) const {
  std::vector<size_t> widths(columns_.size());
  for (size_t i = 0; i < columns_.size(); ++i) widths[i] = display_width(columns_[i].title);
  for (const auto& row : rows_)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i].text));
  if (limit == 0) return widths;
  size_t total = std::accumulate(widths.begin(), widths.end(), size_t{0}) + kGap * (widths.size() - 1);
  // The widest of the columns that may shrink gives way first.
  while (total > limit) {
    size_t widest = columns_.size();
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].least == 0 || widths[i] <= columns_[i].least) continue;
      if (widest == columns_.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == columns_.size()) break;
    --widths[widest];
    --total;
  }
  return widths;
}

std::string Table::render(int width, bool colour) const {
  const std::vector<size_t> widths = this->widths(static_cast<size_t>(std::max(width, 0)));
  std::string out;
  const auto add_line = [&](auto&& cell_of) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line.append(kGap, ' ');
      line += cell_of(i);
    }
    trim_right(line);
    out += line + "\n";
  };
  add_line([&](size_t i) {
    return padded(printable(columns_[i].title, widths[i]), widths[i], columns_[i].align, Colour::kDim,
                  colour);
  });
  for (const auto& row : rows_) {
    add_line([&](size_t i) {
      const bool last_left = i + 1 == columns_.size() && columns_[i].align == Align::kLeft;
      const std::string text = printable(row[i].text, widths[i]);
      return padded(text, last_left ? 0 : widths[i], columns_[i].align, row[i].colour, colour);
    });
  }
  return out;
}

void Facts::add(std::string name, std::string value, Colour colour) {
  facts_.push_back({std::move(name), std::move(value), colour});
}

std::string Facts::render(bool colour) const {
  size_t width = 0;
  for (const Fact& fact : facts_) width = std::max(width, display_width(fact.name));
  std::string out;
  for (const Fact& fact : facts_) {
    std::string name = padded(fact.name, width, Align::kLeft, Colour::kDim, colour);
    for (size_t begin = 0; begin <= fact.value.size();) {
      const size_t end = std::min(fact.value.find('\n', begin), fact.value.size());
      const std::string text = printable(std::string_view(fact.value).substr(begin, end - begin));
      std::string line = name + "  " + paint(text, fact.colour, colour);
      trim_right(line);
      out += line + "\n";
      name = std::string(width, ' ');
      begin = end + 1;
    }
  }
  return out;
}

std::string sparkline(const std::vector<double>& values, size_t width) {
  constexpr std::array kHeights{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  std::string line;
  const size_t shown = std::min(values.size(), width);
  for (size_t i = 0; i < shown; ++i) {
    const size_t index = shown == 1 ? values.size() - 1 : i * (values.size() - 1) / (shown - 1);
    const double value = values[index];
    if (!std::isfinite(value)) {
      line += ' ';
      continue;
    }
    // Halved before they are subtracted: the span of two finite doubles may not be finite.
    const double span = high / 2 - low / 2;
    const double share = span > 0 ? (value / 2 - low / 2) / span : 0.5;
    line += kHeights[std::min<size_t>(static_cast<size_t>(share * 8), 7)];
  }
  return line;
}

}  // namespace slipway::cli
