#include "bits.h"
#include "input.h"
#include "level.h"
#include "parallel.h"
#include "places.h"

namespace planezip {
namespace {

// Encodes chunks one at a time. However another thread changes the contents meanwhile, a chunk's
// size is that of what was written, and never more than that of a chunk stored verbatim.
class ChunkEncoder {
public:
    ChunkEncoder(const Input& input, Codec codec, const ChunkFunctions& functions)
        : input_(input), codec_(codec), functions_(functions) {}

    // Encodes a chunk; returns its size, header included.
    size_t encode(size_t index) {
        const uint8_t* const src = input_.chunk(index, padded_);
        const unsigned blocks = chunk_blocks(input_.bytes, index);
        const size_t raw = size_t{blocks} * kBlockBytes;
        size_t payload = functions_.plan(codec_, src, blocks, plan_);
        if (payload < raw) payload = functions_.write(codec_, src, blocks, plan_, chunk_ + kHeaderBytes);
        if (payload >= raw) {
            payload = raw;
            std::memcpy(chunk_ + kHeaderBytes, src, raw);
        }
        store(chunk_, static_cast<uint16_t>(payload));
        return kHeaderBytes + payload;
    }

    // Puts the chunk last encoded, of that size, somewhere else.
    void put(uint8_t* to, size_t size) const { functions_.copy(to, chunk_, size); }

private:
    const Input input_;
    const Codec codec_;
    const ChunkFunctions& functions_;
    ChunkPlan plan_;
    alignas(64) uint8_t chunk_[kHeaderBytes + kWriteRoom];
    ChunkBuffer padded_;
};

// Encodes the chunks from `first` on in turn; returns the end of them in dst.
uint8_t* encode_in_turn(ChunkEncoder& encoder, size_t first, size_t count, uint8_t* dst) {
    for (size_t i = first; i < first + count; ++i) {
        const size_t size = encoder.encode(i);
        encoder.put(dst, size);
        dst += size;
    }
    return dst;
}

// Chunks in a row that a thread encodes together: threads that take turns at single chunks would
// meet too often, over the places and in the cache lines where one's chunk ends and the other's
// begins. Until a hand has its place, all but the last of its chunks lie on the thread's shelf, and
// that one with the encoder.
constexpr size_t kHand = 4;
constexpr size_t kLeastChunks = 4 * kHand;  // for a worker
constexpr size_t kShelfBytes = (kHand - 1) * (kHeaderBytes + kChunkBytes);

// Encodes hands until none are left. If one does not take its place, its thread may have been put
// aside: then it is encoded here, for the sake of those behind it.
void encode_hands(ChunkEncoder& encoder, uint8_t* shelf, Places& places) {
    size_t hand;
    for (bool more = places.deal(hand); more;) {
        const size_t mine = hand, last = mine * kHand + kHand - 1;
        const uint8_t* const shelved = encode_in_turn(encoder, mine * kHand, kHand - 1, shelf);
        const auto on_shelf = static_cast<size_t>(shelved - shelf);
        size_t size = encoder.encode(last);
        for (;;) {
            uint8_t* place;
            more = places.take_and_deal(hand, on_shelf + size, place);
            if (place) {
                std::memcpy(place, shelf, on_shelf);
                encoder.put(place + on_shelf, size);
            }
            if (!more || hand != mine) break;
            if (places.wait(mine)) continue;
            size_t due;
            if ((place = places.claim(due))) {
                places.settle(encode_in_turn(encoder, due * kHand, kHand, place));
                size = encoder.encode(last);
            }
        }
    }
}

// As encode_in_turn, of all hands. Each worker's shelf is at the end of dst, where no hand is put.
uint8_t* encode_together(const Input& input, Codec codec, const ChunkFunctions& functions,
                         unsigned workers, size_t hands, uint8_t* dst) {
    uint8_t* const shelves = dst + encode_bound(input.bytes) - workers * kShelfBytes;
    Places places(dst, hands);
    for_each_worker(workers, [&](unsigned i) {
        ChunkEncoder encoder(input, codec, functions);
        encode_hands(encoder, shelves + i * kShelfBytes, places);
    });
    return places.end();
}

// How many hands `workers` can encode together if they leave room for their shelves.
size_t hands_beside_shelves(size_t bytes, unsigned workers) {
    const size_t chunks = bytes / kChunkBytes, shelves = workers * (kHand - 1);
    return chunks > shelves ? (chunks - shelves) / kHand : 0;
}

}  // namespace

size_t encode_bound(size_t bytes) {
    const size_t blocks = bytes / kBlockBytes + (bytes % kBlockBytes != 0);
    return chunk_count(bytes) * kHeaderBytes + blocks * kBlockBytes;
}

size_t encode(const uint8_t* src, size_t bytes, Coding coding, unsigned threads, uint8_t* dst) {
    const ChunkFunctions& functions = level().width(coding.symbol_bits);
    const Input input{src, bytes};
    const unsigned workers = worker_count(chunk_count(bytes) / kLeastChunks, threads);
    const size_t hands = workers == 1 ? 0 : hands_beside_shelves(bytes, workers);
    uint8_t* end = dst;
    if (hands > 0) end = encode_together(input, coding.codec, functions, workers, hands, dst);
    // The rest, which needs the room of the shelves.
    const size_t done = hands * kHand;
    ChunkEncoder encoder(input, coding.codec, functions);
    return static_cast<size_t>(encode_in_turn(encoder, done, chunk_count(bytes) - done, end) - dst);
}

}  // namespace planezip
