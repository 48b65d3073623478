#include "serving/batcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <latch>

namespace slipway::serving {
namespace {

using ::testing::ElementsAre;

// Doubles each number of its one input. Remembers how many rows each run had.
class Doubling final : public Model {
 public:
  Doubling() {
    Signature& signature = signatures_.emplace_back();
    signature.inputs.push_back({.name = "x", .type = DataType::kFp32, .shape = Shape{-1, -1}});
    signature.outputs.push_back({.name = "y", .type = DataType::kFp32, .shape = Shape{-1, -1}});
    signature.batchable = true;
  }
  std::string_view runtime() const override { return "doubling"; }
  std::string_view platform() const override { return "test"; }
  const std::vector<Signature>& signatures() const override { return signatures_; }
  unsigned instances() const override { return 1; }
  bool waits() const override { return waits_; }

  Result<std::unique_ptr<Outputs>> run(size_t, std::span<const SlipwayTensor> inputs, Monotonic) override {
    const SlipwayTensor& x = inputs[0];
    runs_.push_back(x.shape[0]);
    if (gate_) gate_->wait();
    const auto* numbers = static_cast<const float*>(x.data);
    for (size_t i = 0; i < x.bytes / sizeof(float); ++i)
      if (numbers[i] < 0) return fail(ErrorCode::kInvalidArgument, "a negative number");
    struct Made final : Outputs {
      Made(const SlipwayTensor& from, const float* in)
          : values(from.bytes / sizeof(float)), shape{from.shape[0], from.shape[1]} {
        for (size_t i = 0; i < values.size(); ++i) values[i] = in[i] * 2;
        tensors_.push_back({.name = "y",
                            .type = DataType::kFp32,
                            .shape = shape,
                            .data = reinterpret_cast<const char*>(values.data()),
                            .bytes = values.size() * sizeof(float)});
      }
      std::vector<float> values;
      Shape shape;
    };
    return std::make_unique<Made>(x, numbers);
  }

  std::vector<Signature> signatures_;
  std::vector<int64_t> runs_;
  std::latch* gate_ = nullptr;
  bool waits_ = false;
};

// A turn that ends when the test says so.
class ManualTurn final : public http::Turn {
 public:
  size_t index() const override { return 0; }
  void at_end(std::move_only_function<void()> work) override { work_.push_back(std::move(work)); }
  void end() {
    for (auto& work : std::exchange(work_, {})) work();
  }

 private:
  std::vector<std::move_only_function<void()>> work_;
};

class BatcherTest : public ::testing::Test {
 protected:
  Job job(const std::vector<float>& numbers, int64_t width,
          std::chrono::seconds time = std::chrono::seconds(60)) {
    Job made;
    Tensor& tensor = made.inputs.emplace_back();
    tensor.shape = {static_cast<int64_t>(numbers.size()) / width, width};
    tensor.elements = Elements(numbers.size() * sizeof(float));
    std::memcpy(tensor.elements.data(), numbers.data(), tensor.elements.size());
    made.rows = tensor.shape[0];
    made.arrived = std::chrono::steady_clock::now();
    made.deadline = made.arrived + time;
    const size_t place = answers_.size();
    answers_.emplace_back();
    made.done = [this, place](Result<JobOutputs> outputs) {
      if (!outputs) {
        answers_[place] = error_name(outputs.error().code);
        return;
      }
      const auto span = outputs->tensors[0].as<float>();
      for (const float value : span) answers_[place] += fmt::format("{} ", value);
    };
    return made;
  }

  Doubling model_;
  Statistics statistics_;
  ManualTurn turn_;
  std::deque<std::string> answers_;
};

TEST_F(BatcherTest, RunsWhatCameTogetherTogetherAndGivesEachItsRows) {
  Batcher batcher(model_, {}, 1, statistics_);
  batcher.submit(job({1, 2}, 2), turn_);
  batcher.submit(job({3, 4, 5, 6}, 2), turn_);
  EXPECT_TRUE(model_.runs_.empty());
  turn_.end();
  EXPECT_THAT(answers_, ElementsAre("2 4 ", "6 8 10 12 "));
  EXPECT_THAT(model_.runs_, ElementsAre(3));
  EXPECT_EQ(statistics_.rows, 3U);
  EXPECT_EQ(statistics_.queued_rows, 0);
}

TEST_F(BatcherTest, KeepsOtherShapesApart) {
  Batcher batcher(model_, {}, 1, statistics_);
  batcher.submit(job({1, 2}, 2), turn_);
  batcher.submit(job({3}, 1), turn_);
  batcher.submit(job({4, 5}, 2), turn_);
  turn_.end();
  EXPECT_THAT(answers_, ElementsAre("2 4 ", "6 ", "8 10 "));
  EXPECT_THAT(model_.runs_, ElementsAre(2, 1));
}

TEST_F(BatcherTest, BoundsTheRowsOfARun) {
  Batcher batcher(model_, {.batch_rows = 8}, 1, statistics_);
  for (int i = 0; i < 7; ++i) batcher.submit(job({1, 2, 3}, 1), turn_);
  batcher.submit(job({1, 2, 3, 4}, 1), turn_);
  turn_.end();
  EXPECT_THAT(model_.runs_, ElementsAre(6, 6, 6, 7));
}

TEST_F(BatcherTest, GivesABadRowToItsOwnerAlone) {
  Batcher batcher(model_, {}, 1, statistics_);
  batcher.submit(job({1}, 1), turn_);
  batcher.submit(job({-1}, 1), turn_);
  turn_.end();
  EXPECT_THAT(answers_, ElementsAre("2 ", "invalid_argument"));
}

TEST_F(BatcherTest, RefusesBeyondItsQueueAndDropsTheExpired) {
  Batcher batcher(model_, {.queued_rows = 3}, 1, statistics_);
  batcher.submit(job({1, 2}, 1), turn_);
  batcher.submit(job({3, 4}, 1), turn_);
  batcher.submit(job({5}, 1, std::chrono::seconds(-1)), turn_);
  turn_.end();
  EXPECT_THAT(answers_, ElementsAre("2 4 ", "exhausted", "timeout"));
  EXPECT_EQ(statistics_.queued_rows, 0);
}

TEST_F(BatcherTest, RunsALargeRequestWhenNothingElseWaits) {
  Batcher batcher(model_, {.batch_rows = 2, .queued_rows = 3}, 1, statistics_);
  batcher.submit(job({1, 2, 3, 4, 5}, 1), turn_);
  turn_.end();
  EXPECT_THAT(answers_, ElementsAre("2 4 6 8 10 "));
}

TEST_F(BatcherTest, BatchesWhatQueuedUpWhileAModelThatWaitsWasBusy) {
  model_.waits_ = true;
  std::latch gate(1);
  model_.gate_ = &gate;
  {
    Batcher batcher(model_, {}, 1, statistics_);
    batcher.submit(job({1}, 1), turn_);
    while (statistics_.queued_rows > 0) std::this_thread::yield();  // it has been taken
    for (int i = 2; i < 7; ++i) batcher.submit(job({static_cast<float>(i)}, 1), turn_);
    gate.count_down();
  }
  EXPECT_THAT(model_.runs_, ElementsAre(1, 5));
  EXPECT_THAT(answers_, ElementsAre("2 ", "4 ", "6 ", "8 ", "10 ", "12 "));
}

}  // namespace
}  // namespace slipway::serving
