// Any bytes as contents: every level writes the same stream, of the size that is measured and within
// the bound, and reads it back; the input is never written.
#include <algorithm>

#include "common.h"

using namespace planezip;

namespace {

// Contents that another thread changes between the planning of a chunk and its writing: whatever is
// written, it keeps to its room.
void write_what_was_not_planned(const uint8_t* bytes, size_t size, Coding coding) {
    const auto blocks = static_cast<unsigned>(std::min<size_t>(size / 2 / kBlockBytes, kChunkBlocks));
    if (blocks == 0) return;
    Exact planned(blocks * kBlockBytes + kSourceSlack), written(planned.size());
    for (Exact* contents : {&planned, &written}) {
        std::memset(contents->data(), 0, contents->size());
        std::memcpy(contents->data(), bytes, blocks * kBlockBytes);
        bytes += blocks * kBlockBytes;
    }
    for (const std::string& name : levels()) {
        use_level(name);
        const ChunkFunctions& functions = level().width(coding.symbol_bits);
        ChunkPlan plan;
        Exact payload(kWriteRoom);
        functions.plan(coding.codec, planned.data(), blocks, plan);
        const size_t wrote =
            functions.write(coding.codec, written.data(), blocks, plan, payload.data());
        REQUIRE(wrote <= payload.size());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
    if (size < kOptionBytes) return 0;
    const Options how = options(input);
    Exact contents(input + kOptionBytes, size - kOptionBytes);
    const size_t bytes = contents.size();
    const unsigned codec = static_cast<unsigned>(how.coding.codec);
    write_what_was_not_planned(contents.data(), bytes, how.coding);
    std::string first;
    for (const std::string& level : levels()) {
        use_level(level);
        Exact out(encode_bound(bytes));
        const size_t written =
            encode(contents.data(), bytes, how.coding, how.threads, out.data());
        REQUIRE(written <= out.size());
        REQUIRE(!bytes || std::memcmp(contents.data(), input + kOptionBytes, bytes) == 0);
        const std::string stream(reinterpret_cast<char*>(out.data()), written);
        if (level == levels().front()) first = stream;
        REQUIRE(stream == first);
        const Sizes sizes = measure(contents.data(), bytes, how.coding.symbol_bits, 1u << codec, 1,
                                    how.threads);
        REQUIRE(sizes.wire_bytes[codec] == written);
        REQUIRE(sizes.raw_bytes == bytes);
        Exact exact(out.data(), written);
        Exact back(bytes);
        check_chunks(exact.data(), written, bytes);
        decode(exact.data(), written, how.coding, how.threads, back.data(), bytes);
        REQUIRE(!bytes || std::memcmp(back.data(), contents.data(), bytes) == 0);
    }
    return 0;
}
