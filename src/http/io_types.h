// Asio's types as this folder uses them.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

namespace slipway::http {

namespace asio = boost::asio;

// The concrete executor instead of Asio's type-erased one: cheaper by an indirection on every step.
using Executor = asio::io_context::executor_type;
template <class T>
using Task = asio::awaitable<T, Executor>;
constexpr asio::use_awaitable_t<Executor> kUseTask;
using Descriptor = asio::posix::basic_stream_descriptor<Executor>;
// For what is read through Asio itself: it remembers that a socket is empty, and then waits without asking
// the kernel.
using Socket = asio::basic_stream_socket<asio::generic::stream_protocol, Executor>;
using Timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                         asio::wait_traits<std::chrono::steady_clock>, Executor>;

}  // namespace slipway::http
