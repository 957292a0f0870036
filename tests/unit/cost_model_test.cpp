#include "relaygen/cost_model.h"

#include <gtest/gtest.h>

namespace relaygen {
namespace {

const std::vector<BatchCost> kCosts{{100, 1, 0.2}, {100, 4, 0.5}, {100, 8, 0.6}, {1100, 1, 0.3}, {1100, 4, 0.6}};

TEST(CostTable, GivesMeasuredCostsBack) {
  const CostTable table(kCosts);
  for (const BatchCost& cost : kCosts) EXPECT_DOUBLE_EQ(table.seconds(cost.rows, cost.depth), cost.seconds);
  ASSERT_EQ(table.costs().size(), kCosts.size());
  EXPECT_EQ(table.costs().front().rows, 1);
  EXPECT_EQ(table.costs().back().depth, 1100);
}

TEST(CostTable, InterpolatesBetweenRowsAndDepths) {
  const CostTable table(kCosts);
  EXPECT_DOUBLE_EQ(table.seconds(2, 100), 0.3);
  EXPECT_DOUBLE_EQ(table.seconds(6, 100), 0.55);
  EXPECT_DOUBLE_EQ(table.seconds(1, 600), 0.25);
  EXPECT_DOUBLE_EQ(table.seconds(2.5, 600), 0.4);
}

// A machine whose rows are dear, one whose rows are nearly free, and a small model that costs nothing.
TEST(LongestTrial, FollowsWhatRowsCost) {
  const auto longest = [](std::vector<BatchCost> large, double small) {
    return longest_trial({CostTable(large), CostTable(std::vector<BatchCost>{{0, 1, small}})}, 0);
  };
  EXPECT_EQ(longest({{0, 1, 1.0}, {0, 4, 1.5}, {0, 8, 2.6}, {0, 16, 3.9}, {0, 64, 14}}, 0.16), 3U);
  EXPECT_EQ(longest({{0, 1, 1.0}, {0, 64, 1.1}}, 0.3), 7U);
  EXPECT_EQ(longest({{0, 1, 1.0}, {0, 64, 1.1}}, 0), 63U);
  EXPECT_EQ(longest_trial({}, 0), 3U);  // nothing is known: all times are zero
}

TEST(CostTable, GoesOnInStraightLinesBeyondTheMeasurements) {
  const CostTable table(kCosts);
  EXPECT_DOUBLE_EQ(table.seconds(16, 100), 0.8);
  EXPECT_DOUBLE_EQ(table.seconds(1, 2100), 0.4);
  EXPECT_NEAR(table.seconds(1, 0), 0.19, 1e-12);
}

TEST(CostTable, IsNeverNegative) {
  const CostTable falling(std::vector<BatchCost>{{10, 1, 0.3}, {10, 2, 0.1}});
  EXPECT_EQ(falling.seconds(8, 10), 0);
}

TEST(CostTable, OneMeasurementHoldsEverywhere) {
  const CostTable table(std::vector<BatchCost>{{10, 1, 0.3}});
  EXPECT_EQ(table.seconds(1, 10), 0.3);
  EXPECT_EQ(table.seconds(64, 9999), 0.3);
}

TEST(CostTable, AnEmptyOneCostsNothing) { EXPECT_EQ(CostTable().seconds(5, 5), 0); }

TEST(CostTable, TheLastOfEqualMeasurementsCounts) {
  const CostTable table(std::vector<BatchCost>{{10, 1, 0.3}, {10, 1, 0.4}});
  EXPECT_EQ(table.seconds(1, 10), 0.4);
}

TEST(IdealTime, AddsUpTheBatchesByPart) {
  const CostModel costs{CostTable(kCosts), CostTable(std::vector<BatchCost>{{100, 1, 0.01}})};
  const Schedule schedule{{Model::large, Part::prefill, 8, 100},
                          {Model::large, Part::large_decode, 1, 100},
                          {Model::large, Part::large_decode, 1, 100},
                          {Model::small, Part::small_decode, 1, 100},
                          {Model::large, Part::catch_up, 4, 100}};
  const PartTimes times = ideal_time(schedule, costs);
  EXPECT_DOUBLE_EQ(times[Part::prefill].seconds, 0.6);
  EXPECT_DOUBLE_EQ(times[Part::large_decode].seconds, 0.4);
  EXPECT_EQ(times[Part::large_decode].batches, 2U);
  EXPECT_DOUBLE_EQ(times[Part::small_decode].seconds, 0.01);
  EXPECT_DOUBLE_EQ(times[Part::catch_up].seconds, 0.5);
  EXPECT_EQ(times[Part::catch_up].rows, 4U);
  EXPECT_DOUBLE_EQ(times.seconds(), 1.51);
}

TEST(PartOf, FollowsPromptRowsAndModel) {
  EXPECT_EQ(part_of(Model::small, 100, 0, 0, 40), Part::prefill);
  EXPECT_EQ(part_of(Model::large, 1, 1, 39, 40), Part::prefill);
  EXPECT_EQ(part_of(Model::large, 1, 1, 40, 40), Part::large_decode);
  EXPECT_EQ(part_of(Model::large, 4, 1, 40, 40), Part::catch_up);
  EXPECT_EQ(part_of(Model::large, 4, 4, 40, 40), Part::verify);
  EXPECT_EQ(part_of(Model::small, 1, 1, 40, 40), Part::small_decode);
  EXPECT_EQ(part_of(Model::small, 2, 1, 40, 40), Part::catch_up);
}

// The figures that were computed by hand for a 4B and a 0.6B model on two cores: a batch of 16 costs 693 ms.
TEST(RelaySpeedUp, AgreesWithAComputationByHand) {
  const CostModel costs{CostTable(std::vector<BatchCost>{{64, 1, 0.205}, {64, 17, 0.733}}),
                        CostTable(std::vector<BatchCost>{{64, 1, 0.033}, {64, 44, 0.242}})};
  const double own = 16 * 0.73 / 0.27;  // tokens of the large model in a cycle
  const double relay = (own - 1) * 0.205 + 0.733 + (0.033 + own * (0.242 - 0.033) / 43) + 16 * 0.033;
  EXPECT_NEAR(relay_speed_up(costs, 0.27, 16, 64), (own + 16) * 0.205 / relay, 1e-9);
  EXPECT_NEAR(relay_speed_up(costs, 0.27, 16, 64), 1.2, 0.05);
}

}  // namespace
}  // namespace relaygen
