// Each call asks the table for the form of its size and goes there; everything that has one form only is the
// direct communicator's.
#include "comm/mpi/formed_communicator.hpp"

#include <utility>

#include "comm/forwarding_communicator.hpp"
#include "comm/mpi/hierarchy.hpp"
#include "comm/mpi/shared_group.hpp"

namespace galvatron::comm::mpi {
namespace {

using core::CollectiveKind;
using core::Form;

class FormedCommunicator final : public ForwardingCommunicator {
 public:
  FormedCommunicator(std::unique_ptr<MpiCommunicator> direct, const Group& group,
                     const std::vector<int>& node_of, const core::FormTable& forms, const Limits& limits)
      : ForwardingCommunicator(*direct), group_(group), forms_(forms), direct_(std::move(direct)) {
    if (forms.uses(Form::shared))
      shared_ = std::make_unique<SharedGroup>(direct_->handle(), limits.shared_area);
    if (forms.uses(Form::hierarchical))
      hierarchy_ = std::make_unique<Hierarchy>(group, direct_->handle(), node_of, limits);
  }

  void all_reduce(TensorView data, ReduceOp op) override {
    const auto form = forms_.of(CollectiveKind::all_reduce, data.bytes());
    if (form == Form::direct) return direct_->all_reduce(data, op);
    check_all_reduce(group_, data);
    if (form == Form::shared) return shared_->all_reduce(data, op);
    hierarchy_->all_reduce(data, op);
  }

  void all_gather(TensorView in, TensorView out) override {
    const auto form = forms_.of(CollectiveKind::all_gather, out.bytes());
    if (form == Form::direct) return direct_->all_gather(in, out);
    check_all_gather(group_, in, out);
    if (form == Form::hierarchical) return hierarchy_->all_gather(in.data, out.data, in.bytes());
    auto* own = out.data + index() * in.bytes();
    copy_bytes(own, in.data, in.bytes());
    shared_->gather_bytes(out.data, even_parts(out.bytes(), size(), size(), begins_));
  }

  void reduce_scatter(TensorView in, TensorView out) override {
    const auto form = forms_.of(CollectiveKind::reduce_scatter, in.bytes());
    if (form == Form::direct) return direct_->reduce_scatter(in, out);
    check_reduce_scatter(group_, in, out);
    if (form == Form::hierarchical) return hierarchy_->reduce_scatter(in, out.data);
    shared_->reduce_parts(in, even_parts(in.elements(), size(), size(), begins_), out.data, ReduceOp::sum);
  }

  void all_to_all(TensorView in, TensorView out) override {
    if (forms_.of(CollectiveKind::all_to_all, in.bytes()) == Form::direct)
      return direct_->all_to_all(in, out);
    check_all_to_all(group_, in, out);
    shared_->all_to_all(in.data, out.data, in.bytes() / size());
  }

 private:
  Group group_;
  core::FormTable forms_;
  std::unique_ptr<MpiCommunicator> direct_;  // before what uses its handle
  std::unique_ptr<SharedGroup> shared_;
  std::unique_ptr<Hierarchy> hierarchy_;
  std::vector<int64_t> begins_;
};

}  // namespace

std::unique_ptr<Communicator> with_forms(std::unique_ptr<MpiCommunicator> direct, const Group& group,
                                         const std::vector<int>& node_of, const core::FormTable& forms,
                                         const Limits& limits) {
  check_forms(group, node_of, forms);
  if (!forms.uses(Form::shared) && !forms.uses(Form::hierarchical)) return direct;
  return std::make_unique<FormedCommunicator>(std::move(direct), group, node_of, forms, limits);
}

}  // namespace galvatron::comm::mpi
