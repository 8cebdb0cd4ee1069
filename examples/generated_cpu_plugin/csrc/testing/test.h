#ifndef TESTING_TEST_H_
#define TESTING_TEST_H_

// GoogleTest, and what the C++ unit tests add to it. GTest::gtest_main has the main function:
//
//   TEST(Shape, ScalarHasOneElement) { EXPECT_EQ(Shape{}.num_elements(), 1); }
//
// This header is precompiled for all tests (cmake/testing.cmake).

#include <gtest/gtest.h>

#include <string>

#define EXPECT_CONTAINS(text, part) \
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, std::string(part), std::string(text))

#endif  // TESTING_TEST_H_
