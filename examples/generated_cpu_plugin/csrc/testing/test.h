#ifndef TESTING_TEST_H_
#define TESTING_TEST_H_

// A small test framework: what the C++ unit tests need, and nothing to install.
//
//   TEST(Shape, ScalarHasOneElement) { EXPECT_EQ(Shape{}.num_elements(), 1); }
//
// Each x_test.cc is a program: no argument runs all tests, an argument only those whose
// "Suite.Name" contains it.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace testing {

struct Case {
  const char* suite;
  const char* name;
  void (*run)();
};

inline std::vector<Case>& Cases() {
  static std::vector<Case> cases;
  return cases;
}
inline int& Failures() {
  static int failures = 0;
  return failures;
}
inline bool Register(const char* suite, const char* name, void (*run)()) {
  Cases().push_back({suite, name, run});
  return true;
}

template <typename T>
std::string Show(const T& value) {
  std::ostringstream out;
  if constexpr (requires { out << value; }) {
    if constexpr (std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char>) {
      out << int(value);
    } else {
      out << value;
    }
  } else if constexpr (std::is_enum_v<T>) {
    out << "enum " << (long long)(value);
  } else if constexpr (requires {
                         value.begin();
                         value.end();
                       }) {
    out << "[";
    for (const auto& one : value) out << Show(one) << " ";
    out << "]";
  } else {
    out << "(value of " << sizeof(T) << " bytes)";
  }
  return out.str();
}

inline void Fail(const char* file, int line, const std::string& what) {
  ++Failures();
  std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
}

template <typename A, typename B, typename Op>
bool Compare(const char* file, int line, const char* text, const A& a, const B& b, Op op) {
  if (op(a, b)) return true;
  Fail(file, line, std::string(text) + "\n  left:  " + Show(a) + "\n  right: " + Show(b));
  return false;
}

inline int RunAll(int argc, char** argv) {
  int ran = 0;
  int failed = 0;
  for (const Case& one : Cases()) {
    std::string full = std::string(one.suite) + "." + one.name;
    if (argc > 1 && full.find(argv[1]) == std::string::npos) continue;
    int before = Failures();
    one.run();
    ++ran;
    if (Failures() != before) {
      ++failed;
      std::fprintf(stderr, "FAILED %s\n", full.c_str());
    }
  }
  std::printf("%d passed, %d failed\n", ran - failed, failed);
  if (ran == 0) std::fprintf(stderr, "no test matches\n");
  return failed == 0 && ran > 0 ? 0 : 1;
}

}  // namespace testing

#define TEST(suite, name)                                          \
  static void suite##_##name##_body();                             \
  [[maybe_unused]] static const bool suite##_##name##_registered = \
      ::testing::Register(#suite, #name, suite##_##name##_body);   \
  static void suite##_##name##_body()

#define EXPECT_TRUE(x) ((x) ? void() : ::testing::Fail(__FILE__, __LINE__, "not true: " #x))
#define EXPECT_FALSE(x) ((x) ? ::testing::Fail(__FILE__, __LINE__, "not false: " #x) : void())
#define EXPECT_EQ(a, b)                                          \
  ::testing::Compare(__FILE__, __LINE__, #a " == " #b, (a), (b), \
                     [](auto& x, auto& y) { return x == y; })
#define EXPECT_NE(a, b)                                          \
  ::testing::Compare(__FILE__, __LINE__, #a " != " #b, (a), (b), \
                     [](auto& x, auto& y) { return x != y; })
#define EXPECT_LE(a, b)                                          \
  ::testing::Compare(__FILE__, __LINE__, #a " <= " #b, (a), (b), \
                     [](auto& x, auto& y) { return x <= y; })
#define EXPECT_NEAR(a, b, tolerance)                                                       \
  ::testing::Compare(__FILE__, __LINE__, #a " near " #b, (a), (b), [&](auto& x, auto& y) { \
    return x == y || (x > y ? x - y : y - x) <= (tolerance);                               \
  })
// Ends the test when it fails.
#define ASSERT_TRUE(x)                                    \
  if (!(x)) {                                             \
    ::testing::Fail(__FILE__, __LINE__, "not true: " #x); \
    return;                                               \
  }
#define EXPECT_CONTAINS(text, part)                                                   \
  ::testing::Compare(__FILE__, __LINE__, #text " contains " #part, std::string(text), \
                     std::string(part),                                               \
                     [](auto& x, auto& y) { return x.find(y) != std::string::npos; })

#define TEST_MAIN() \
  int main(int argc, char** argv) { return ::testing::RunAll(argc, argv); }

#endif  // TESTING_TEST_H_
