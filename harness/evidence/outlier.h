// Which of several like things is slower than the others. Pure; rates in any unit, more is faster.
//
// One of three or more is slow when its rate lies below the median m by more than
//   max(3.5 x 1.4826 x MAD, least x m)          MAD: median of |rate - m|
// 1.4826 x MAD is the standard deviation of a normal distribution, and 3.5 of them the limit of Iglewicz and Hoaglin
// ("How to Detect and Handle Outliers", ASQC 1993), which one bad value in three cannot hide from, as it would from
// mean and standard deviation. `least` keeps apart what differs between healthy ones: equal rates have a MAD of 0.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace claimcheck {

struct Member {
  int index = 0;
  double rate = 0;
};

struct Slow {
  int index = 0;
  double rate = 0;
  double usual = 0;  // median of all; of two, the faster one
  double loss() const { return 1 - rate / usual; }
};

// In the order given. None of fewer than three: of two nobody can tell which is as it should be.
std::vector<Slow> slow_ones(std::span<const Member> members, double least);

// The slower of two, when it is by more than `least`.
std::optional<Slow> slower_of_two(std::span<const Member> members, double least);

// Rates between each two of several, [from][to]; unset: not measured, or oneself.
using RateMatrix = std::vector<std::vector<std::optional<double>>>;

struct SlowPair {
  int from = 0;
  int to = 0;
  double rate = 0;
  double usual = 0;
  double loss() const { return 1 - rate / usual; }
};

struct SlowLinks {
  std::vector<Slow> members;    // slow with every other, in one direction at least
  std::vector<SlowPair> pairs;  // slow between two that are fast with others; the slower direction
};

// A member's rate is that of its fastest partner: whatever is broken between two others, or in the partners, is not
// its fault. Needs three members.
SlowLinks slow_links(const RateMatrix& rates, double least);

}  // namespace claimcheck
