#include "compute/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compute/cluster_store.h"
#include "store/testing.h"

namespace slipway::compute {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Machine machine() {
  Machine small;
  small.cpus = 2;
  small.memory_bytes = uint64_t{8} << 30;
  return small;
}

ClusterSpec spec(const std::string& name) {
  ClusterSpec cluster;
  cluster.workspace = WorkspaceName("default");
  cluster.name = ClusterName(name);
  cluster.max_nodes = 2;
  cluster.cpus = 1;
  cluster.memory_bytes = 1 << 30;
  cluster.created_at = {1'700'000'000'000'000};
  return cluster;
}

json::object parse(std::string_view text) {
  return *parse_json_object(text, "test");
}

TEST(Cluster, IsReadFromJsonWithDefaults) {
  const auto read =
      cluster_spec_from_json(parse(R"({"name": "cpu-cluster", "max_nodes": 4, "idle_seconds": 90})"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->spec.name, ClusterName("cpu-cluster"));
  EXPECT_EQ(read->spec.min_nodes, 0);
  EXPECT_EQ(read->spec.max_nodes, 4);
  EXPECT_EQ(read->spec.idle, std::chrono::seconds(90));
  EXPECT_EQ(read->spec.priority, Priority::kDedicated);
}

TEST(Cluster, WrongFieldsAreNamed) {
  const auto error = [](std::string_view text) {
    const auto read = cluster_spec_from_json(parse(text));
    return read ? std::string("no error") : read.error().message + " / " + read.error().next;
  };
  EXPECT_THAT(error(R"({"name": "a/b"})"), HasSubstr("cluster"));
  EXPECT_THAT(error(R"({"max_nodes": 4})"), HasSubstr("name"));
  EXPECT_THAT(error(R"({"name": "a", "min_nodes": 3, "max_nodes": 2})"),
              HasSubstr("at least 3 and at most 2"));
  EXPECT_THAT(error(R"({"name": "a", "max_nodes": -1})"), HasSubstr("from 0 "));
  EXPECT_THAT(error(R"({"name": "a", "idle_seconds": -1})"), HasSubstr("idle_seconds is -1"));
  EXPECT_THAT(error(R"({"name": "a", "cpus": -2})"), HasSubstr("-2 CPUs"));
  EXPECT_THAT(error(R"({"name": "a", "memory_bytes": 5})"), HasSubstr("5 bytes"));
  EXPECT_THAT(error(R"({"name": "a", "gpus": -1})"), HasSubstr("gpus is -1"));
  EXPECT_THAT(error(R"({"name": "a", "priority": "high"})"), HasSubstr("'dedicated' or 'low'"));
  EXPECT_THAT(error(R"({"name": "a", "colour": 1})"), HasSubstr("colour"));
  EXPECT_THAT(error(R"({"name": ")" + std::string(60, 'x') + R"("})"), HasSubstr("cluster"));
}

TEST(Cluster, OfSlurmKeepsItsTokenApart) {
  const auto read = cluster_spec_from_json(parse(
      R"({"name": "hpc", "engine": "slurm", "slurm": {"endpoint": "unix:/run/s", "partition": "gpu"}, "token": "a.b.c"})"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->spec.engine, EngineKind::kSlurm);
  EXPECT_EQ(read->spec.slurm.partition, "gpu");
  ASSERT_TRUE(read->token);
  EXPECT_EQ(read->token->reveal(), "a.b.c");
  EXPECT_TRUE(read->spec.has_token);
  EXPECT_FALSE(json::serialize(to_json(read->spec, {}, {}, 0)).contains("a.b.c"));
  ClusterSpec known = read->spec;
  known.workspace = WorkspaceName("default");
  const auto changed = patched(known, parse(R"({"slurm": {"account": "team"}})"));
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->spec.slurm.partition, "gpu");
  EXPECT_EQ(changed->spec.slurm.account, "team");
  EXPECT_FALSE(changed->token);
}

TEST(Cluster, WithoutAnEndpointSlurmIsReachedByItsCommands) {
  const auto read = cluster_spec_from_json(parse(R"({"name": "hpc", "engine": "slurm"})"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->spec.slurm.endpoint, kSlurmCommands);
}

TEST(Cluster, AChangeKeepsWhatItDoesNotName) {
  const auto changed = patched(spec("cpu"), parse(R"({"max_nodes": 9, "priority": "low"})"));
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->spec.max_nodes, 9);
  EXPECT_EQ(changed->spec.priority, Priority::kLow);
  EXPECT_EQ(changed->spec.cpus, 1);
  EXPECT_FALSE(patched(spec("cpu"), parse(R"({"name": "other"})")));
  EXPECT_FALSE(patched(spec("cpu"), parse(R"({"min_nodes": 3})")));
}

TEST(NodeSize, IsTheMachinesWhereNothingIsSaid) {
  ClusterSpec cluster = spec("cpu");
  cluster.max_nodes = 1;
  cluster.cpus = 0;
  cluster.memory_bytes = 0;
  const NodeSize size = node_size(cluster, machine());
  EXPECT_EQ(size.capacity.cpus, 2);
  EXPECT_EQ(size.capacity.memory_bytes, uint64_t{8} << 30);
  EXPECT_THAT(size.warnings, IsEmpty());
}

TEST(NodeSize, IsCutToTheMachineWithAWarning) {
  ClusterSpec cluster = spec("big");
  cluster.max_nodes = 1;
  cluster.cpus = 64;
  cluster.memory_bytes = uint64_t{512} << 30;
  cluster.gpus = 8;
  const NodeSize size = node_size(cluster, machine());
  EXPECT_EQ(size.capacity.cpus, 2);
  EXPECT_EQ(size.capacity.memory_bytes, uint64_t{8} << 30);
  EXPECT_EQ(size.capacity.gpus, 0);
  EXPECT_THAT(
      size.warnings,
      ElementsAre("nodes were to have 64 CPUs; this machine has 2 CPUs, so that is what they have",
                  "nodes were to have 512 GiB of memory; this machine has 8 GiB, so that is what they have",
                  "nodes were to have 8 GPUs; this machine has 0 GPUs, so that is what they have"));
}

TEST(NodeSize, WarnsThatNodesShareTheMachine) {
  ClusterSpec cluster = spec("cpu");
  EXPECT_THAT(node_size(cluster, machine()).warnings, IsEmpty());
  cluster.max_nodes = 4;
  EXPECT_THAT(node_size(cluster, machine()).warnings,
              ElementsAre("4 nodes of 1 CPU share this machine's 2 when all of them are busy"));
}

TEST(LocalCluster, IsTheWholeMachineAndWarmInTheDefaultWorkspace) {
  const ClusterSpec local = local_cluster(WorkspaceName("default"), {1});
  EXPECT_TRUE(check(local));
  EXPECT_EQ(local.name, ClusterName("local"));
  EXPECT_EQ(local.min_nodes, 1);
  EXPECT_EQ(local.max_nodes, 1);
  EXPECT_EQ(local_cluster(WorkspaceName("other"), {1}).min_nodes, 0);
  Machine gpus = machine();
  gpus.gpus.resize(2);
  EXPECT_EQ(node_size(local, gpus).capacity.gpus, 2);
}

TEST(Cluster, IsWrittenAsTheApiSays) {
  const ClusterSpec cluster = spec("cpu");
  const json::object written = to_json(cluster, node_size(cluster, machine()), {.idle = 1, .busy = 2}, 7);
  EXPECT_EQ(written.at("name").as_string(), "cpu");
  EXPECT_EQ(written.at("idle_seconds").to_number<double>(), 120);
  EXPECT_EQ(written.at("nodes").at("busy").as_int64(), 2);
  EXPECT_EQ(written.at("queued_runs").to_number<int>(), 7);
  EXPECT_EQ(written.at("priority").as_string(), "dedicated");
  EXPECT_EQ(written.at("created_at").as_string(), "2023-11-14T22:13:20.000Z");
  EXPECT_TRUE(written.at("warnings").as_array().empty());
}

class ClusterStoreTest : public testing::Test {
 protected:
  Status write(const std::function<Status(store::Writer&)>& work) { return store_->write(work); }
  Status insert(const ClusterSpec& cluster) {
    return write([&](store::Writer& writer) { return insert_cluster(writer, cluster); });
  }
  Result<ClusterSpec> find(const std::string& name) {
    Result<ClusterSpec> found = ClusterSpec();
    EXPECT_TRUE(store_->read([&](store::Reader& reader) -> Status {
      found = find_cluster(reader, {WorkspaceName("default"), ClusterName(name)});
      return {};
    }));
    return found;
  }
  std::vector<NodeRecord> nodes() {
    std::vector<NodeRecord> found;
    EXPECT_TRUE(store_->read([&](store::Reader& reader) -> Status {
      SLIPWAY_ASSIGN(found, all_nodes(reader));
      return {};
    }));
    return found;
  }

  store::TestStore store_;
};

TEST_F(ClusterStoreTest, KeepsEveryField) {
  ClusterSpec cluster = spec("cpu");
  cluster.min_nodes = 1;
  cluster.cpus = 1.5;
  cluster.gpus = kAllGpus;
  cluster.priority = Priority::kLow;
  ASSERT_TRUE(insert(cluster));
  const auto found = find("cpu");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->key(), cluster.key());
  EXPECT_EQ(found->min_nodes, 1);
  EXPECT_EQ(found->max_nodes, 2);
  EXPECT_EQ(found->idle, cluster.idle);
  EXPECT_EQ(found->cpus, 1.5);
  EXPECT_EQ(found->memory_bytes, cluster.memory_bytes);
  EXPECT_EQ(found->gpus, kAllGpus);
  EXPECT_EQ(found->priority, Priority::kLow);
  EXPECT_EQ(found->created_at, cluster.created_at);
}

TEST_F(ClusterStoreTest, ATakenNameIsAConflict) {
  ASSERT_TRUE(insert(spec("cpu")));
  const auto again = insert(spec("cpu"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kConflict);
  EXPECT_EQ(again.error().message, "there is a cluster 'cpu' in workspace 'default' already");
}

TEST_F(ClusterStoreTest, AMissingClusterIsNotFoundWithTheNamesThereAre) {
  ASSERT_TRUE(insert(spec("cpu")));
  ASSERT_TRUE(insert(spec("gpu")));
  const auto found = find("tpu");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(found.error().message, "there is no cluster 'tpu' in workspace 'default'");
  EXPECT_EQ(found.error().next, "there are cpu, gpu; or create it: slipway compute create tpu");
}

TEST_F(ClusterStoreTest, IsUpdatedAndDeleted) {
  ClusterSpec cluster = spec("cpu");
  ASSERT_TRUE(insert(cluster));
  cluster.max_nodes = 7;
  ASSERT_TRUE(write([&](store::Writer& writer) { return update_cluster(writer, cluster); }));
  EXPECT_EQ(find("cpu")->max_nodes, 7);
  ASSERT_TRUE(write([&](store::Writer& writer) { return delete_cluster(writer, cluster.key()); }));
  EXPECT_FALSE(find("cpu"));
  EXPECT_EQ(write([&](store::Writer& writer) { return delete_cluster(writer, cluster.key()); }).error().code,
            ErrorCode::kNotFound);
  EXPECT_EQ(write([&](store::Writer& writer) { return update_cluster(writer, cluster); }).error().code,
            ErrorCode::kNotFound);
}

TEST_F(ClusterStoreTest, LocalCannotBeDeleted) {
  const ClusterSpec local = local_cluster(WorkspaceName("default"), {1});
  ASSERT_TRUE(insert(local));
  EXPECT_EQ(write([&](store::Writer& writer) { return delete_cluster(writer, local.key()); }).error().code,
            ErrorCode::kConflict);
  ASSERT_TRUE(write([&](store::Writer& writer) { return delete_clusters_of(writer, local.workspace); }));
  EXPECT_FALSE(find("local"));
}

TEST_F(ClusterStoreTest, ListsByNameInPages) {
  for (const char* name : {"c", "a", "b"}) ASSERT_TRUE(insert(spec(name)));
  std::vector<std::string> names;
  ASSERT_TRUE(store_->read([&](store::Reader& reader) -> Status {
    SLIPWAY_ASSIGN(const auto first, list_clusters(reader, WorkspaceName("default"), "", 2));
    SLIPWAY_ASSIGN(const auto rest,
                   list_clusters(reader, WorkspaceName("default"), first.back().name.str(), 2));
    for (const auto& cluster : first) names.push_back(cluster.name.str());
    for (const auto& cluster : rest) names.push_back(cluster.name.str());
    return {};
  }));
  EXPECT_THAT(names, ElementsAre("a", "b", "c"));
}

TEST_F(ClusterStoreTest, NodesAreRememberedWithTheirStateAndGpus) {
  ASSERT_TRUE(insert(spec("cpu")));
  NodeRecord node{.id = new_node_id(ClusterName("cpu")),
                  .cluster = spec("cpu").key(),
                  .capacity = {.cpus = 1, .memory_bytes = 5, .gpus = 2, .gpu_names = {"H200", "H200"}},
                  .gpu_indices = {2, 7},
                  .address = "",
                  .created_at = {9}};
  EXPECT_TRUE(node.id.str().starts_with("cpu-"));
  ASSERT_TRUE(write([&](store::Writer& writer) { return insert_node(writer, node); }));
  ASSERT_EQ(nodes().size(), 1U);
  EXPECT_FALSE(nodes()[0].registered);
  EXPECT_THAT(nodes()[0].gpu_indices, ElementsAre(2, 7));
  EXPECT_THAT(nodes()[0].capacity.gpu_names, ElementsAre("H200", "H200"));

  ASSERT_TRUE(write([&](store::Writer& writer) {
    return set_node_registered(writer, node.id, node.capacity, "10.0.0.1", 42, {10});
  }));
  EXPECT_TRUE(nodes()[0].registered);
  EXPECT_EQ(nodes()[0].address, "10.0.0.1");
  EXPECT_EQ(nodes()[0].pid, 42);
  EXPECT_FALSE(nodes()[0].draining);

  ASSERT_TRUE(write([&](store::Writer& writer) { return set_node_draining(writer, node.id); }));
  ASSERT_TRUE(write([&](store::Writer& writer) {
    return set_node_registered(writer, node.id, node.capacity, "10.0.0.1", 43, {11});
  }));
  EXPECT_TRUE(nodes()[0].draining) << "a restarted agent does not undo it";

  const Status early =
      write([&](store::Writer& writer) { return delete_clusters_of(writer, node.cluster.workspace); });
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, ErrorCode::kConflict);
  ASSERT_TRUE(write([&](store::Writer& writer) { return delete_node(writer, node.id); }));
  ASSERT_TRUE(write([&](store::Writer& writer) { return delete_node(writer, node.id); }));
  EXPECT_THAT(nodes(), IsEmpty());
}

}  // namespace
}  // namespace slipway::compute
