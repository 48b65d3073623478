#include "node/allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace slipway::node {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const NodeCapacity kMachine{.cpus = 64, .memory_bytes = 1ULL << 38, .gpus = 0, .gpu_names = {}};

TEST(LentNode, HasWhatSlurmGranted) {
  const LentNode lent = lent_node({{"SLURM_PROCID", "3"},
                                   {"SLURM_CPUS_ON_NODE", "4"},
                                   {"SLURM_MEM_PER_NODE", "512"},
                                   {"CUDA_VISIBLE_DEVICES", "2,5"}},
                                  kMachine);
  EXPECT_EQ(lent.rank, 3);
  EXPECT_EQ(lent.capacity.cpus, 4);
  EXPECT_EQ(lent.capacity.memory_bytes, 512ULL << 20);
  EXPECT_EQ(lent.capacity.gpus, 2);
  EXPECT_THAT(lent.gpu_indices, ElementsAre(2, 5));
}

TEST(LentNode, MemoryMayBeGivenForEachCpu) {
  EXPECT_EQ(
      lent_node({{"SLURM_CPUS_ON_NODE", "4"}, {"SLURM_MEM_PER_CPU", "100"}}, kMachine).capacity.memory_bytes,
      400ULL << 20);
}

TEST(LentNode, WhatSlurmDoesNotSayIsTheMachines) {
  const LentNode lent = lent_node({}, kMachine);
  EXPECT_EQ(lent.rank, 0);
  EXPECT_EQ(lent.capacity.cpus, kMachine.cpus);
  EXPECT_EQ(lent.capacity.memory_bytes, kMachine.memory_bytes);
  EXPECT_THAT(lent.gpu_indices, IsEmpty());
}

TEST(LentNode, GpusThatAreNotNumbersAreNotCounted) {
  EXPECT_THAT(lent_node({{"CUDA_VISIBLE_DEVICES", "GPU-5b3a,GPU-77"}}, kMachine).gpu_indices, IsEmpty());
  EXPECT_THAT(lent_node({{"CUDA_VISIBLE_DEVICES", "NoDevFiles"}}, kMachine).gpu_indices, IsEmpty());
}

}  // namespace
}  // namespace slipway::node
