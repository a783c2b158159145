#include <octet/core/error.h>
#include <octet/core/parallel.h>
#include <octet/core/profile.h>
#include <octet/train/distributed/shard_exchange.h>

#include <algorithm>
#include <mutex>
#include <utility>

namespace octet::detail {
namespace {

using Kind = ShardOp::Kind;

/// Large enough that a message is not all latency, small enough that several are under way.
constexpr std::size_t kPiece = std::size_t{1} << 15U;
/// Each has a stream of its own.
constexpr std::size_t kMostPieces = 1024;

}  // namespace

void copy_floats(std::span<const float> from, float* to) {
  parallel_for(from.size(), thread_share(from.size(), parallel_grain(Work::write_floats)),
               [&](std::size_t begin, std::size_t end) {
                 std::ranges::copy(from.subspan(begin, end - begin), to + begin);
               });
}

void add_floats(std::span<const float> from, float* to) {
  parallel_for(from.size(), thread_share(from.size(), parallel_grain(Work::map_floats)),
               [&](std::size_t begin, std::size_t end) {
                 const float* __restrict values = from.data();
                 float* __restrict sums = to;
                 for (std::size_t i = begin; i < end; ++i) sums[i] += values[i];
               });
}

void ShardNumbers::add(const ShardNumbers& more) {
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += more.sums[i];
  for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], more.least[i]);
}

ShardExchange::ShardExchange(const ShardTree& tree, ProcessGroup& group,
                             std::vector<std::size_t> sizes, ShardNumbers numbers,
                             GradientFormat format, GradientErrors& errors)
    : tree_(tree),
      group_(&group),
      sizes_(std::move(sizes)),
      blocks_(sizes_),
      format_(format),
      errors_(&errors),
      memory_(std::make_unique<Memory>()),
      zeros_(std::move(numbers)),
      of_shards_(tree.shards()),
      taken_(sizes_.size()) {
  std::size_t begin = 0;
  for (const std::size_t size : sizes_) {
    begins_.push_back(begin);
    begin += size;
  }
  if (format_ == GradientFormat::int8) {
    errors.resize(tree.own().size());
    for (std::vector<float>& each : errors) {
      if (each.size() != blocks_.elements()) each.assign(blocks_.elements(), 0.0F);
    }
  }
  make_pieces();
}

/// Requests that an exception has left alone keep the memory that they write.
ShardExchange::~ShardExchange() {
  if (!under_way_ || group_->size() == 1) return;
  static std::mutex mutex;
  static std::vector<std::unique_ptr<Memory>> left;
  const std::lock_guard lock(mutex);
  left.push_back(std::move(memory_));
}

/// Cuts the gradients into pieces of whole blocks, from the last block on.
void ShardExchange::make_pieces() {
  const std::size_t elements = blocks_.elements();
  // One process has nobody to send pieces to.
  const std::size_t least = group_->size() == 1 ? elements : kPiece;
  const std::size_t most = std::max(least, (elements + kMostPieces - 1) / kMostPieces);
  IndexRange blocks = {blocks_.count(), blocks_.count()};
  while (blocks.end > 0) {
    --blocks.begin;
    const std::size_t before = blocks.begin == 0 ? 0 : blocks.begin - 1;
    if (blocks.begin > 0 && blocks_.elements_of({before, blocks.end}).size() <= most) continue;
    Piece piece;
    piece.blocks = blocks;
    piece.elements = blocks_.elements_of(blocks);
    for (std::size_t i = 0; i < sizes_.size(); ++i) piece.parameters += holds(piece, i) ? 1 : 0;
    if (format_ == GradientFormat::int8 && group_->size() > 1) {
      piece.incoming.resize(blocks_.message_bytes(blocks));
      piece.whole.resize(piece.incoming.size());
    }
    memory_->pieces.push_back(std::move(piece));
    blocks.end = blocks.begin;
  }
}

int ShardExchange::stream_of(const Piece& piece) const {
  return static_cast<int>(&piece - memory_->pieces.data());
}

bool ShardExchange::holds(const Piece& piece, std::size_t parameter) const {
  const std::size_t begin = begins_[parameter];
  return begin < piece.elements.end && piece.elements.begin < begin + sizes_[parameter];
}

std::vector<float>& ShardExchange::total() {
  return group_->is_root() ? memory_->slots[plan_.result] : memory_->total;
}

std::span<float> ShardExchange::in(std::vector<float>& all, const Piece& piece) {
  return std::span(all).subspan(piece.elements.begin, piece.elements.size());
}

std::span<float> ShardExchange::errors_of(std::size_t shard, const Piece& piece) {
  return in((*errors_)[shard - tree_.own().begin], piece);
}

void ShardExchange::begin(std::size_t rows) {
  plan_ = tree_.plan(rows, format_);
  const bool coded = format_ == GradientFormat::int8;
  memory_->slots.resize(std::max(memory_->slots.size(), plan_.slots));
  for (auto& slot : memory_->slots) slot.resize(blocks_.elements());
  if (group_->size() > 1 && !coded) memory_->received.resize(blocks_.elements());
  if (!group_->is_root()) memory_->total.resize(blocks_.elements());
  current_ = 0;
  tail_ = 0;
  for (std::size_t i = 0; i < plan_.ops.size(); ++i) {
    if (plan_.ops[i].kind == Kind::leaf) tail_ = i + 1;
  }
  broadcast_ = 0;
  under_way_ = true;
  for (Piece& piece : memory_->pieces) {
    piece.next = tail_;
    piece.missing = tail_ > 0 && group_->size() > 1 ? piece.parameters : 0;
    piece.sends = 0;
    if (!group_->is_root()) piece.sent.push_back(broadcast(piece));
    const bool receives = tail_ < plan_.ops.size() && plan_.ops[tail_].kind == Kind::receive;
    if (receives) piece.receive = receive(piece);
  }
}

std::optional<std::size_t> ShardExchange::next_shard() {
  while (current_ < tail_) {
    const ShardOp& op = plan_.ops[current_];
    if (op.kind == Kind::leaf) {
      taken_.assign(taken_.size(), false);
      return op.shard;
    }
    const ProfileScope scope("shards");
    for (Piece& piece : memory_->pieces) run(op, piece);
    ++current_;
  }
  return std::nullopt;
}

void ShardExchange::take(std::size_t parameter, const Tensor& gradient) {
  if (taken_[parameter]) return;
  taken_[parameter] = true;
  const ShardOp& op = plan_.ops[current_];
  {
    const ProfileScope scope("shards");
    const auto to =
        std::span(memory_->slots[op.slot]).subspan(begins_[parameter], sizes_[parameter]);
    if (op.first && gradient.defined()) {
      copy_floats(gradient.span(), to.data());
    } else if (op.first) {
      std::ranges::fill(to, 0.0F);
    } else if (gradient.defined()) {
      add_floats(gradient.span(), to.data());
    }
  }
  if (current_ + 1 < tail_ || group_->size() == 1) return;
  for (Piece& piece : memory_->pieces) piece.missing -= holds(piece, parameter) ? 1 : 0;
  advance_all(false);
}

void ShardExchange::end_shard(ShardNumbers numbers) {
  of_shards_[plan_.ops[current_].shard] = std::move(numbers);
  ++current_;
}

void ShardExchange::run(const ShardOp& op, Piece& piece) {
  const std::span<float> slot = in(memory_->slots[op.slot], piece);
  switch (op.kind) {
    case Kind::add: {
      const std::span<float> from = in(memory_->slots[op.from], piece);
      if (format_ == GradientFormat::float32) return add_floats(from, slot.data());
      return code_gradients(blocks_, piece.blocks, from, errors_of(op.shard, piece), {},
                            slot.data(), Decoded::is_added);
    }
    case Kind::code: {
      // The message of the whole, of all ranks, is that of the last one.
      const std::span<std::byte> message = group_->is_root() ? piece.whole : std::span<std::byte>();
      return code_gradients(blocks_, piece.blocks, slot, errors_of(op.shard, piece), message,
                            slot.data(), Decoded::replaces);
    }
    case Kind::send:
      piece.sent.push_back(group_->start_send(message_of(op, piece), op.rank, stream_of(piece)));
      return;
    case Kind::leaf:
    case Kind::receive:
      break;
  }
  throw InvalidArgument("ShardExchange: expected an addition, a quantization or a send");
}

/// What is sent of a slot.
std::span<const std::byte> ShardExchange::message_of(const ShardOp& op, Piece& piece) {
  const std::span<float> slot = in(memory_->slots[op.slot], piece);
  if (format_ == GradientFormat::float32) return std::as_bytes(slot);
  if (piece.sends == piece.outgoing.size()) piece.outgoing.emplace_back(piece.incoming.size());
  std::vector<std::byte>& message = piece.outgoing[piece.sends++];
  code_gradients(blocks_, piece.blocks, slot, errors_of(op.shard, piece), message, nullptr,
                 Decoded::replaces);
  return message;
}

std::unique_ptr<Request> ShardExchange::receive(Piece& piece) {
  const ShardOp& op = plan_.ops[piece.next];
  if (format_ == GradientFormat::int8) {
    return group_->start_receive(piece.incoming, op.rank, stream_of(piece));
  }
  std::vector<float>& to = op.first ? memory_->slots[op.slot] : memory_->received;
  return group_->start_receive(std::as_writable_bytes(in(to, piece)), op.rank, stream_of(piece));
}

void ShardExchange::take_received(const ShardOp& op, Piece& piece) {
  float* slot = in(memory_->slots[op.slot], piece).data();
  if (format_ == GradientFormat::int8) {
    decode_gradients(blocks_, piece.blocks, piece.incoming, slot,
                     op.first ? Decoded::replaces : Decoded::is_added);
  } else if (!op.first) {
    add_floats(in(memory_->received, piece), slot);
  }
}

/// All ranks start those of all pieces in the same order.
std::unique_ptr<Request> ShardExchange::broadcast(Piece& piece) {
  if (format_ == GradientFormat::int8) return group_->start_broadcast(piece.whole);
  return group_->start_broadcast(std::as_writable_bytes(in(total(), piece)));
}

bool ShardExchange::advance(Piece& piece, bool wait) {
  const ShardOp& op = plan_.ops[piece.next];
  if (op.kind != Kind::receive) {
    run(op, piece);
  } else {
    if (!piece.receive) piece.receive = receive(piece);
    if (wait) {
      const ProfileScope scope("exchange", "receive");
      piece.receive->wait();
    } else if (!piece.receive->done()) {
      return false;
    }
    piece.receive.reset();
    take_received(op, piece);
  }
  ++piece.next;
  return true;
}

void ShardExchange::advance_all(bool wait) {
  for (Piece& piece : memory_->pieces) {
    while (piece.missing == 0 && piece.next < plan_.ops.size() && advance(piece, wait)) {
    }
    // Before the next piece is waited for: one goes down while others come up.
    start_broadcasts();
  }
}

/// Starts the broadcasts of rank 0, in the order in which the other ranks wait for them.
void ShardExchange::start_broadcasts() {
  if (!group_->is_root() || group_->size() == 1) return;
  for (; broadcast_ < memory_->pieces.size(); ++broadcast_) {
    Piece& piece = memory_->pieces[broadcast_];
    if (piece.missing > 0 || piece.next < plan_.ops.size()) return;
    piece.sent.push_back(broadcast(piece));
  }
}

void ShardExchange::finish() {
  // Receives of all pieces are under way before one is waited for.
  advance_all(false);
  advance_all(true);
  add_numbers();
  const ProfileScope scope("exchange", "broadcast");
  for (Piece& piece : memory_->pieces) {
    for (const auto& request : piece.sent) request->wait();
    piece.sent.clear();
    if (format_ == GradientFormat::float32 || group_->is_root()) continue;
    decode_gradients(blocks_, piece.blocks, piece.whole, in(memory_->total, piece).data(),
                     Decoded::replaces);
  }
  under_way_ = false;
}

/// Adds the shards' numbers along the tree along which their gradients are added.
void ShardExchange::add_numbers() {
  numbers_.assign(plan_.slots, zeros_);
  for (const ShardOp& op : plan_.ops) {
    ShardNumbers& slot = numbers_[op.slot];
    if (op.kind == Kind::code) continue;
    if (op.kind == Kind::send) {
      const ProfileScope scope("exchange", "send");
      group_->send(std::as_bytes(std::span(slot.sums)), op.rank);
      group_->send(std::as_bytes(std::span(slot.least)), op.rank);
      continue;
    }
    ShardNumbers more = zeros_;
    if (op.kind == Kind::leaf) {
      more = std::move(of_shards_[op.shard]);
    } else if (op.kind == Kind::add) {
      more = std::move(numbers_[op.from]);
    } else {
      const ProfileScope scope("exchange", "receive");
      group_->receive(std::as_writable_bytes(std::span(more.sums)), op.rank);
      group_->receive(std::as_writable_bytes(std::span(more.least)), op.rank);
    }
    if (op.first) {
      slot = std::move(more);
    } else {
      slot.add(more);
    }
  }
}

}  // namespace octet::detail
