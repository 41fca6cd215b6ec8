#include <optional>

#include "bits.h"
#include "input.h"
#include "level.h"
#include "parallel.h"
#include "places.h"

namespace planezip {
namespace {

// One chunk on its way: planned first, so that its size is known, then written to its place.
class Encoder {
public:
    Encoder(const Input& input, size_t index, Codec codec, const ChunkFunctions& functions)
        : codec_(codec),
          functions_(functions),
          src_(input.chunk(index, padded_)),
          blocks_(chunk_blocks(input.bytes, index)),
          raw_(size_t{blocks_} * kBlockBytes),
          payload_(std::min(raw_, functions.plan(codec, src_, blocks_, plan_))) {}

    size_t size() const { return kHeaderBytes + payload_; }

    // Writes the chunk, header included, and nothing at or behind `end`; what is between may be
    // written over. If another thread has changed the contents since they were planned, the chunk
    // still has its size, what it holds is undefined, and nothing behind `limit` is written.
    void write(uint8_t* to, const uint8_t* end, const uint8_t* limit) const {
        store(to, static_cast<uint16_t>(payload_));
        uint8_t* const payload = to + kHeaderBytes;
        if (payload_ == raw_) {
            std::memcpy(payload, src_, raw_);
        } else if (room(payload + payload_, end) >= kOvershoot && room(payload, limit) >= kWriteRoom) {
            functions_.write(codec_, src_, blocks_, plan_, payload);
        } else {
            uint8_t buffer[kWriteRoom];
            functions_.write(codec_, src_, blocks_, plan_, buffer);
            std::memcpy(payload, buffer, payload_);
        }
    }

private:
    static size_t room(const uint8_t* from, const uint8_t* to) {
        return static_cast<size_t>(to - from);
    }

    const Codec codec_;
    const ChunkFunctions& functions_;
    ChunkBuffer padded_;
    ChunkPlan plan_;
    const uint8_t* const src_;
    const unsigned blocks_;
    const size_t raw_, payload_;
};

// Some chunks in a row, encoded together: threads that take turns at single chunks would meet too
// often, over the places and in the cache lines where one's chunk ends and the other's begins.
class Hand {
public:
    static constexpr size_t kChunks = 8;

    Hand(const Input& input, size_t hand, Codec codec, const ChunkFunctions& functions) {
        const size_t first = hand * kChunks, left = chunk_count(input.bytes) - first;
        for (size_t i = 0; i < std::min(kChunks, left); ++i) {
            size_ += chunks_[i].emplace(input, first + i, codec, functions).size();
        }
    }

    size_t size() const { return size_; }

    // Writes the hand and nothing behind it; see Encoder::write().
    void write(uint8_t* to, const uint8_t* limit) const {
        const uint8_t* const end = to + size_;
        for (const std::optional<Encoder>& chunk : chunks_) {
            if (!chunk) return;
            chunk->write(to, end, limit);
            to += chunk->size();
        }
    }

private:
    std::optional<Encoder> chunks_[kChunks];
    size_t size_ = 0;
};

// Encodes hands until none are left. If one does not take its place, its thread may have been put
// aside: then it is encoded here, for the sake of those behind it.
template <class Encode>
void encode_hands(const Encode& encode, Places& places, const uint8_t* limit) {
    size_t hand;
    for (bool more = places.deal(hand); more;) {
        const size_t mine = hand;
        const auto encoder = encode(mine);
        for (;;) {
            uint8_t* place;
            more = places.give_and_deal(hand, encoder.size(), place);
            if (place) encoder.write(place, limit);
            if (!more || hand != mine) break;
            if (places.wait(mine)) continue;
            const size_t due = places.due();
            const auto late = encode(due);
            if ((place = places.give(due, late.size()))) late.write(place, limit);
        }
    }
}

size_t encode_together(const Input& input, Codec codec, const ChunkFunctions& functions,
                       unsigned threads, uint8_t* dst) {
    const auto encode = [&](size_t i) { return Hand(input, i, codec, functions); };
    const size_t hands = (chunk_count(input.bytes) + Hand::kChunks - 1) / Hand::kChunks;
    Places places(dst, hands);
    const uint8_t* const limit = dst + encode_bound(input.bytes);
    const auto work = [&](unsigned) { encode_hands(encode, places, limit); };
    for_each_worker(worker_count(hands, threads), work);
    return static_cast<size_t>(places.end() - dst);
}

size_t encode_alone(const Input& input, Codec codec, const ChunkFunctions& functions,
                    uint8_t* const dst) {
    const uint8_t* const end = dst + encode_bound(input.bytes);
    uint8_t* to = dst;
    for (size_t i = 0; i < chunk_count(input.bytes); ++i) {
        const Encoder chunk(input, i, codec, functions);
        chunk.write(to, end, end);
        to += chunk.size();
    }
    return static_cast<size_t>(to - dst);
}

}  // namespace

size_t encode_bound(size_t bytes) {
    const size_t blocks = bytes / kBlockBytes + (bytes % kBlockBytes != 0);
    return chunk_count(bytes) * kHeaderBytes + blocks * kBlockBytes;
}

size_t encode(const uint8_t* src, size_t bytes, Coding coding, unsigned threads, uint8_t* dst) {
    const ChunkFunctions& functions = level().width(coding.symbol_bits);
    return threads == 1 ? encode_alone({src, bytes}, coding.codec, functions, dst)
                        : encode_together({src, bytes}, coding.codec, functions, threads, dst);
}

}  // namespace planezip
