#include "serving/protocols/wire_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serving/wire.h"

namespace slipway::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
std::vector<T> elements(const Tensor& tensor) {
  const auto* data = reinterpret_cast<const T*>(tensor.elements.data());
  return {data, data + tensor.elements.size() / sizeof(T)};
}

TEST(WireTensorTest, PackedAndSingleNumbersAreRead) {
  std::string message;
  append_field(message, 2, std::string("\x01\x02", 2));
  append_whole(message, 2, static_cast<uint64_t>(-3));
  append_whole(message, 9, 7);  // another field
  const auto tensor = read_values(message, {.number = 2, .kind = WireKind::kVarint}, DataType::kInt32, {3});
  ASSERT_TRUE(tensor) << tensor.error().message;
  EXPECT_THAT(elements<int32_t>(*tensor), ElementsAre(1, 2, -3));
}

TEST(WireTensorTest, AnElementThatDoesNotFitItsTypeIsRefused) {
  std::string message;
  append_whole(message, 1, 300);
  const ValuesField field{.number = 1, .kind = WireKind::kVarint};
  EXPECT_FALSE(read_values(message, field, DataType::kUint8, {1}));
  EXPECT_FALSE(read_values(message, field, DataType::kInt8, {1}));
  EXPECT_TRUE(read_values(message, field, DataType::kInt16, {1}));
  std::string negative;
  append_whole(negative, 1, static_cast<uint64_t>(-1));
  EXPECT_FALSE(read_values(negative, field, DataType::kUint32, {1}));
  EXPECT_TRUE(read_values(negative, field, DataType::kInt8, {1}));
}

TEST(WireTensorTest, TheNumberOfElementsMustFitTheShape) {
  std::string message;
  append_field(message, 1, std::string(8, '\0'));
  const ValuesField field{.number = 1, .kind = WireKind::kFixed32};
  EXPECT_TRUE(read_values(message, field, DataType::kFp32, {2}));
  EXPECT_FALSE(read_values(message, field, DataType::kFp32, {1}));
  EXPECT_FALSE(read_values(message, field, DataType::kFp32, {3}));
  EXPECT_FALSE(read_values(message, field, DataType::kFp32, {1LL << 62, 4}));
  EXPECT_FALSE(read_values(message, field, DataType::kFp32, {-1}));
  EXPECT_FALSE(read_values(message, field, DataType::kFp64, {2}));
}

TEST(WireTensorTest, TheLastValueStandsForThoseThatAreMissing) {
  std::string message;
  append_float(message, 5, 1.5F);
  append_float(message, 5, 2.5F);
  const ValuesField field{.number = 5, .kind = WireKind::kFixed32};
  const auto tensor = read_values(message, field, DataType::kFp32, {2, 2}, Missing::kRepeatLast);
  ASSERT_TRUE(tensor) << tensor.error().message;
  EXPECT_THAT(elements<float>(*tensor), ElementsAre(1.5F, 2.5F, 2.5F, 2.5F));
  EXPECT_FALSE(read_values("", field, DataType::kFp32, {2}, Missing::kRepeatLast));
  EXPECT_FALSE(read_values(message, field, DataType::kFp32, {100 << 20}, Missing::kRepeatLast));
}

TEST(WireTensorTest, TextsAreReadAndWritten) {
  std::string message;
  append_field(message, 8, "one");
  append_field(message, 8, "");
  const auto tensor = read_values(message, {.number = 8, .kind = WireKind::kBytes}, DataType::kBytes, {2});
  ASSERT_TRUE(tensor) << tensor.error().message;
  const std::vector<SlipwayBytes> texts = elements<SlipwayBytes>(*tensor);
  EXPECT_EQ(std::string_view(texts[0].data, texts[0].size), "one");
  EXPECT_EQ(texts[1].size, 0U);
  std::string out;
  append_values(out, {.number = 8, .kind = WireKind::kBytes},
                {.name = "x",
                 .type = DataType::kBytes,
                 .shape = tensor->shape,
                 .data = tensor->elements.data(),
                 .bytes = tensor->elements.size()});
  EXPECT_EQ(out, message);
}

TEST(WireTensorTest, BrokenMessagesAreRefused) {
  const ValuesField field{.number = 1, .kind = WireKind::kVarint};
  for (const std::string_view message : {"\x0a\x05\x01", "\x0a\x02\x80\x80", "\x08", "\xff\xff"}) {
    const auto tensor = read_values(message, field, DataType::kInt64, {1});
    ASSERT_FALSE(tensor);
    EXPECT_THAT(tensor.error().message, HasSubstr(""));
  }
}

}  // namespace
}  // namespace slipway::serving
