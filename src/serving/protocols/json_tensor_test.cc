#include "serving/protocols/json_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace slipway::serving {
namespace {

using ::testing::ElementsAre;

Result<Tensor> read(const std::string& text, DataType type = DataType::kFp32) {
  JsonReader reader(text);
  SLIPWAY_ASSIGN(Tensor tensor, read_tensor(reader, type));
  SLIPWAY_TRY(reader.finish());
  return tensor;
}

template <class T>
std::vector<T> values(const Tensor& tensor) {
  const auto* first = reinterpret_cast<const T*>(tensor.elements.data());
  return {first, first + tensor.elements.size() / sizeof(T)};
}

double number(const std::string& text) {
  JsonReader reader(text);
  const auto value = reader.number();
  return value && reader.finish() ? *value : -12345;
}

TEST(JsonTensor, FindsItsShape) {
  auto tensor = read("[[1, 2.5 ,-3e2],\n[4,5,6]]");
  ASSERT_TRUE(tensor) << tensor.error().message;
  EXPECT_THAT(tensor->shape, ElementsAre(2, 3));
  EXPECT_THAT(values<float>(*tensor), ElementsAre(1, 2.5, -300, 4, 5, 6));
  EXPECT_TRUE(read("7")->shape.empty());
  EXPECT_THAT(read("[]")->shape, ElementsAre(0));
  EXPECT_THAT(read("[[],[]]")->shape, ElementsAre(2, 0));
}

TEST(JsonTensor, RefusesUnevenLists) {
  for (const char* text : {"[[1,2],[3]]", "[[1],[2,3]]", "[1,[2]]", "[[1],2]", "[[],[1]]", "[[[1]],[]]"}) {
    const auto tensor = read(text);
    ASSERT_FALSE(tensor) << text;
    EXPECT_TRUE(tensor.error().message.contains("uneven")) << tensor.error().message;
  }
}

TEST(JsonTensor, RefusesWhatIsNotJson) {
  for (const char* text :
       {"",     "[",    "[1",  "[1,",   "[1,]",  "[1 2]",   "[1]]",   "[01]",   "[+1]", "[.5]",
        "[1.]", "[1e]", "[-]", "[nan]", "[0x1]", "[\"1\"]", "[true]", "[null]", "{}",   "[1]x"})
    EXPECT_FALSE(read(text)) << text;
}

TEST(JsonTensor, BoundsTheDepth) {
  EXPECT_TRUE(read(std::string(100, '[') + "1" + std::string(100, ']')));
  EXPECT_FALSE(read(std::string(101, '[') + "1" + std::string(101, ']')));
  EXPECT_FALSE(read(std::string(100'000, '[')));
}

TEST(JsonTensor, TakesWholeNumbersOfTheirTypeAlone) {
  EXPECT_THAT(values<uint8_t>(*read("[0,255]", DataType::kUint8)), ElementsAre(0, 255));
  EXPECT_THAT(values<int8_t>(*read("[-128,127]", DataType::kInt8)), ElementsAre(-128, 127));
  EXPECT_THAT(values<int64_t>(*read("[-9223372036854775808]", DataType::kInt64)),
              ElementsAre(std::numeric_limits<int64_t>::min()));
  EXPECT_THAT(values<uint64_t>(*read("[18446744073709551615]", DataType::kUint64)), ElementsAre(UINT64_MAX));
  EXPECT_FALSE(read("[256]", DataType::kUint8));
  EXPECT_FALSE(read("[-1]", DataType::kUint8));
  EXPECT_FALSE(read("[128]", DataType::kInt8));
  EXPECT_FALSE(read("[1.0]", DataType::kInt32));
  EXPECT_FALSE(read("[1e3]", DataType::kInt32));
  EXPECT_FALSE(read("[18446744073709551616]", DataType::kUint64));
}

TEST(JsonTensor, ReadsNumbersAsTheStandardLibraryDoes) {
  for (const char* text :
       {"0", "-0", "0.1", "3.141592653589793", "1e22", "1e23", "123456789012345678901234567890",
        "9007199254740993", "0.30000000000000004", "5e-324", "2.2250738585072014e-308",
        "1.7976931348623157e308", "0.0000000000000000000000000000012345", "1E+2", "-1.5e-7"})
    EXPECT_EQ(number(text), std::strtod(text, nullptr)) << text;
  EXPECT_EQ(number("1e400"), INFINITY);
  EXPECT_EQ(number("-1e400"), -INFINITY);
  EXPECT_EQ(number("1e-400"), 0);
  EXPECT_TRUE(std::isnan(number("NaN")));
  EXPECT_EQ(number("-Infinity"), -INFINITY);
}

TEST(JsonTensor, ReadsTextAndBase64) {
  auto tensor = read(R"(["a\u00e9\ud83d\ude00", {"b64": "AAEC"}, ""])", DataType::kBytes);
  ASSERT_TRUE(tensor) << tensor.error().message;
  const auto* strings = tensor->elements.as<SlipwayBytes>();
  EXPECT_EQ(std::string_view(strings[0].data, strings[0].size), "a\u00e9\U0001F600");
  EXPECT_EQ(std::string_view(strings[1].data, strings[1].size), std::string_view("\0\1\2", 3));
  EXPECT_EQ(strings[2].size, 0U);
  EXPECT_FALSE(read(R"(["\ud800"])", DataType::kBytes));
  EXPECT_FALSE(read("[\"\xff\"]", DataType::kBytes));
  EXPECT_FALSE(read(R"([{"b64": "?"}])", DataType::kBytes));
  EXPECT_FALSE(read(R"([{"c": "AAEC"}])", DataType::kBytes));
}

TEST(JsonTensor, ChecksADeclaredShapeBeforeTheData) {
  const std::string text = "[1,2,3,4]";
  JsonReader reader(text);
  EXPECT_THAT(read_tensor(reader, DataType::kFp32, Shape{2, 2})->shape, ElementsAre(2, 2));
  for (const Shape& shape : {Shape{3}, Shape{-1, 4}, Shape{int64_t{1} << 62, 4}, Shape{1 << 20, 1 << 20}}) {
    JsonReader again(text);
    EXPECT_FALSE(read_tensor(again, DataType::kFp32, shape)) << to_text(shape);
  }
}

TEST(JsonTensor, WritesWhatItReads) {
  const float numbers[] = {1, 0.1F, -2.5e20F, NAN, INFINITY, -INFINITY};
  const int64_t shape[] = {2, 3};
  const TensorView view{.name = "y",
                        .type = DataType::kFp32,
                        .shape = shape,
                        .data = reinterpret_cast<const char*>(numbers),
                        .bytes = sizeof numbers};
  std::string nested;
  append_tensor(nested, view, Nesting::kNested);
  EXPECT_EQ(nested, "[[1.0,0.1,-2.5e+20],[NaN,Infinity,-Infinity]]");
  std::string flat;
  append_tensor(flat, view, Nesting::kFlat);
  EXPECT_EQ(flat, "[1.0,0.1,-2.5e+20,NaN,Infinity,-Infinity]");
  std::string row;
  append_row(row, view, 0);
  EXPECT_EQ(row, "[1.0,0.1,-2.5e+20]");
  EXPECT_EQ(values<float>(*read(nested))[2], -2.5e20F);
}

TEST(Half, GoesThereAndBack) {
  for (int bits = 0; bits < 1 << 16; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if (const float value = half_to_float(half); !std::isnan(value))
      ASSERT_EQ(float_to_half(value), half) << bits;
  }
  EXPECT_EQ(float_to_half(65520), 0x7c00);
  EXPECT_EQ(float_to_half(65519), 0x7bff);
  EXPECT_EQ(float_to_half(1e-9F), 0);
}

}  // namespace
}  // namespace slipway::serving
