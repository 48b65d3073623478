// What the code of a TorchScript network says of itself. Part of torch_runtime.cpp, and built with it.
#pragma once

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/passes/inliner.h>

#include <memory>
#include <set>
#include <string>

// The code of a method with that of all it calls in place of the calls.
inline std::shared_ptr<torch::jit::Graph> whole_graph(const torch::jit::Method& method) {
  auto graph = method.graph()->copy();
  torch::jit::Inline(*graph);
  return graph;
}

// Those that are looked up in a table: the only ones that code itself says are whole numbers.
inline std::set<std::string> whole_number_inputs(const torch::jit::Graph& graph) {
  static const std::set<std::string> kLookups{"aten::embedding", "aten::embedding_bag", "aten::one_hot"};
  std::set<std::string> names;
  for (const torch::jit::Value* input : graph.inputs())
    for (const torch::jit::Use& use : input->uses())
      if (kLookups.count(use.user->kind().toQualString()) > 0)
        names.insert(input->debugName().substr(0, input->debugName().find('.')));
  return names;
}

inline bool is_made_here(const torch::jit::Node& node) {
  return node.kind() == c10::prim::ListConstruct || node.kind() == c10::prim::DictConstruct;
}

// Whether it writes into an attribute, or into a list or dictionary that may be one.
inline bool writes_into_model(const torch::jit::Node& node) {
  const c10::FunctionSchema* schema = node.maybeSchema();
  if (schema == nullptr) return false;
  const auto& arguments = schema->arguments();
  for (size_t i = 0; i < arguments.size() && i < node.inputs().size(); ++i) {
    const auto& alias = arguments[i].alias_info();
    if (!alias || !alias->isWrite()) continue;
    const torch::jit::Value* written = node.inputs()[i];
    if (written->node()->kind() == c10::prim::GetAttr) return true;
    const bool tensor = written->type()->kind() == c10::TypeKind::TensorType;
    if (!tensor && !is_made_here(*written->node())) return true;
  }
  return false;
}

// Whether a run changes the model, which then takes one run at a time. What only training does is no reason.
inline bool changes_itself(const torch::jit::Block& block) {
  for (const torch::jit::Node* node : block.nodes()) {
    if (node->kind() == c10::prim::SetAttr || node->kind() == c10::prim::CallMethod ||
        node->kind() == c10::prim::fork || writes_into_model(*node))
      return true;
    const bool asks = node->kind() == c10::prim::If && node->input(0)->node()->kind() == c10::prim::GetAttr &&
                      node->input(0)->node()->s(c10::attr::name) == "training";
    for (size_t i = asks ? 1 : 0; i < node->blocks().size(); ++i)
      if (changes_itself(*node->blocks()[i])) return true;
  }
  return false;
}
