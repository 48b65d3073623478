// Writes that wait together: they share a transaction, and none hurts another.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "store/database_fixture.h"

namespace slipway::store {
namespace {

using testing::ElementsAre;

template <class Backend>
class WriteQueueTest : public DatabaseTest<Backend> {};
TYPED_TEST_SUITE(WriteQueueTest, Backends);

// Holds the writer inside one closure until it is let go, so that what comes meanwhile waits.
class HeldWriter {
 public:
  explicit HeldWriter(Database& database)
      : thread_([this, &database] {
          (void)database.write([this](Writer&) -> Status {
            std::unique_lock lock(mutex_);
            held_ = true;
            changed_.notify_all();
            changed_.wait(lock, [this] { return released_; });
            return {};
          });
        }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return held_; });
  }
  ~HeldWriter() { release(); }
  void release() {
    {
      const std::lock_guard lock(mutex_);
      released_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  bool released_ = false;
  std::thread thread_;
};

TYPED_TEST(WriteQueueTest, UndoesAllOfAClosureThatFails) {
  const Status written = this->database_->write([&](Writer& writer) -> Status {
    SLIPWAY_TRY(this->insert(writer, "a"));
    SLIPWAY_TRY(this->insert(writer, "b"));
    return fail(ErrorCode::kNotFound, "it was not there");
  });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().message, "it was not there");
  EXPECT_THAT(this->names(), testing::IsEmpty());
}

TYPED_TEST(WriteQueueTest, UndoesAClosureThatThrows) {
  const Status written = this->database_->write([&](Writer& writer) -> Status {
    SLIPWAY_TRY(this->insert(writer, "a"));
    throw std::runtime_error("thrown");
  });
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kInternal);
  EXPECT_THAT(this->names(), testing::IsEmpty());
}

TYPED_TEST(WriteQueueTest, AFailingClosureDoesNotHurtItsNeighbours) {
  HeldWriter held(*this->database_);
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([this, i, &good] {
      const Status written = this->database_->write([&](Writer& writer) -> Status {
        SLIPWAY_TRY(this->insert(writer, std::to_string(i)));
        if (i % 2 == 1) return fail(ErrorCode::kInvalidArgument, "odd");
        return {};
      });
      EXPECT_EQ(written.has_value(), i % 2 == 0);
      good += written ? 1 : 0;
    });
  }
  held.release();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 10);
  EXPECT_EQ(this->names().size(), 10U);
}

TYPED_TEST(WriteQueueTest, RunsActionsAfterTheCommitOnly) {
  std::vector<std::string> log;
  ASSERT_TRUE(this->database_->write([&](Writer& writer) -> Status {
    writer.after_commit([&] {
      // Another connection sees the row: the commit is behind us.
      log.push_back(this->names().empty() ? "early" : "late");
    });
    log.push_back("work");
    return this->insert(writer, "a");
  }));
  EXPECT_THAT(log, ElementsAre("work", "late"));
}

TYPED_TEST(WriteQueueTest, DropsTheActionsOfAClosureThatFails) {
  bool ran = false;
  EXPECT_FALSE(this->database_->write([&](Writer& writer) -> Status {
    writer.after_commit([&] { ran = true; });
    return fail(ErrorCode::kConflict, "no");
  }));
  ASSERT_TRUE(this->add("a"));
  EXPECT_FALSE(ran);
}

TYPED_TEST(WriteQueueTest, RefusesWritesBeyondTheQueue) {
  this->reopen({kFirst}, 2);
  HeldWriter held(*this->database_);
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i) {
    threads.emplace_back([&, i] {
      const Status written = this->add(std::to_string(i));
      if (written) return;
      EXPECT_EQ(written.error().code, ErrorCode::kUnavailable);
      ++refused;
    });
  }
  while (refused < 3) std::this_thread::yield();
  held.release();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 3);
  EXPECT_EQ(this->names().size(), 2U);
}

TYPED_TEST(WriteQueueTest, GivesUpAWriteThatWaitsTooLongAndNeverDoesItLater) {
  this->reopen({kFirst}, 100, std::chrono::milliseconds(20));
  HeldWriter held(*this->database_);
  const Status written = this->add("late");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::kUnavailable);
  held.release();
  EXPECT_THAT(this->names(), testing::IsEmpty());
}

TYPED_TEST(WriteQueueTest, ManyWritersAndReadersGetAlong) {
  constexpr int kThreads = 8;
  constexpr int kEach = 50;
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    size_t last = 0;
    while (!stop) {
      const size_t now = this->names().size();
      EXPECT_GE(now, last);
      last = now;
    }
  });
  std::vector<std::thread> writers;
  for (int t = 0; t < kThreads; ++t)
    writers.emplace_back([this, t] {
      for (int i = 0; i < kEach; ++i) EXPECT_TRUE(this->add(std::to_string(t) + "." + std::to_string(i)));
    });
  for (std::thread& thread : writers) thread.join();
  stop = true;
  reader.join();
  EXPECT_EQ(this->names().size(), static_cast<size_t>(kThreads * kEach));
}

}  // namespace
}  // namespace slipway::store
