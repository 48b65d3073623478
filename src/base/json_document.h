// The parser below parse_json: a whole document from one piece of text.
#pragma once

#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <string_view>

namespace slipway {

// The document lives in `storage`. Errors are those of Boost.JSON: too_deep beyond `max_depth`, extra_data
// after the document.
boost::json::value parse_document(std::string_view text, size_t max_depth, boost::system::error_code& error,
                                  boost::json::storage_ptr storage = {});

}  // namespace slipway
