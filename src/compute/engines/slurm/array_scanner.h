// Cuts the elements of one array out of a JSON document as it streams by, without building any of it: a
// controller's answer about a hundred thousand jobs is hundreds of megabytes, of which a few are ours.
//
// The document is an object; the array is the value of one of its fields, and its elements are objects. What
// is looked at is the nesting alone: an element that is handed out is parsed, and checked, by its taker.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace slipway::compute {

class ArrayScanner {
 public:
  // `on_element` gets each element's text, valid during the call. Both outlive this.
  ArrayScanner(std::string_view field, const std::function<void(std::string_view)>& on_element)
      : field_(field), on_element_(on_element) {}

  // kTooLarge when one element passes 16 MiB.
  Status feed(std::string_view bytes);
  // Whether the document has come to its end.
  bool complete() const { return began_ && depth_ == 0; }
  // What stands outside the array, from the document's beginning: where errors are. At most 64 KiB.
  const std::string& rest() const { return rest_; }

 private:
  void open(char bracket, size_t at, std::string_view bytes);
  void close(size_t at, std::string_view bytes);
  void keep_rest(std::string_view bytes);

  const std::string_view field_;
  const std::function<void(std::string_view)>& on_element_;
  int depth_ = 0;
  bool began_ = false;
  bool in_string_ = false;
  bool escaped_ = false;        // the next byte of the string means itself
  bool field_is_next_ = false;  // the name of the field has just been read
  bool in_array_ = false;       // of that field
  bool in_element_ = false;
  size_t begin_ = 0;     // in this piece: of the element, or of what goes to `rest`
  std::string name_;     // the last string outside elements
  std::string element_;  // its part from earlier pieces
  std::string rest_;
};

}  // namespace slipway::compute
