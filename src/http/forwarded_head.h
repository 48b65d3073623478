// The heads of messages that are passed on. What belongs to one connection alone (RFC 9110, 7.6.1) stays
// there: framing is written anew for the next one, from what the parser understood, so that the two ends can
// never disagree about where a message ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/gateway.h"
#include "http/outgoing.h"
#include "http/parser.h"

namespace slipway::http {

// Whether a field goes on over several lines, which nobody needs and two readers may read as two things: such
// heads are not passed on.
bool has_folded_field(std::string_view raw);

// How the body behind a head is delimited. Without a length there is none, or chunks.
struct BodyFraming {
  std::optional<uint64_t> length;
  bool chunked = false;
};

// `raw` is the head as it came, which `head` was parsed from. The client's Authorization stays here: it is
// for the gateway; the server's own key takes its place.
std::string forwarded_request(std::string_view raw, const Head& head, const Passage& passage,
                              BodyFraming framing);

struct AnswerFraming {
  BodyFraming body;
  bool keep_alive = false;
  int version = 11;  // the client's
};
std::string forwarded_answer(std::string_view raw, const Head& head, const std::string& request_id,
                             AnswerFraming framing);

}  // namespace slipway::http
