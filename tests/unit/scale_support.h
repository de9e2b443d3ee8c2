// What the tests of predictions share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "harness/error.h"
#include "harness/scale/scale.h"

namespace claimcheck::scale_test {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

inline constexpr double us = 1e-6;

inline std::string refusal(const std::function<void()>& what, ExitCode code = ExitCode::usage) {
  try {
    what();
  } catch (const UserError& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  ADD_FAILURE() << "accepted";
  return {};
}

}  // namespace claimcheck::scale_test
