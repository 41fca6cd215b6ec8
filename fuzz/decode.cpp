// Any bytes as a chunk stream, and as the payload of a chunk: refused or read, the same way by every
// level and function.
#include <algorithm>

#include "common.h"

using namespace planezip;

namespace {

constexpr size_t kLengthBytes = 3;

bool checks(Exact& stream, size_t bytes) {
    try {
        check_chunks(stream.data(), stream.size(), bytes);
        REQUIRE(span_chunks(stream.data(), stream.size(), bytes) == stream.size());
        return true;
    } catch (const CorruptStream&) {
        return false;
    }
}

bool inspects(Exact& stream, Coding coding, size_t bytes) {
    try {
        const Contents found = inspect(stream.data(), stream.size(), coding, bytes);
        uint64_t blocks = 0;
        for (uint64_t count : found.tag_blocks) blocks += count;
        REQUIRE(blocks == (bytes + 127) / 128);
        return true;
    } catch (const CorruptStream&) {
        return false;
    }
}

bool decodes(Exact& stream, const Options& how, Exact& out) {
    try {
        decode(stream.data(), stream.size(), how.coding, how.threads, out.data(), out.size());
        return true;
    } catch (const CorruptStream&) {
        return false;
    }
}

// Behind the stream's headers, which seldom fit: the bytes as the payload of a chunk of so many blocks.
void read_payload(const uint8_t* bytes, size_t size, const Options& how, unsigned blocks) {
    size = std::min<size_t>(size, blocks * kBlockBytes);
    Exact payload(size + kReadSlack);
    std::memset(payload.data(), 0, payload.size());
    if (size) std::memcpy(payload.data(), bytes, size);
    Exact first(blocks * kBlockBytes), out(first.size());
    uint64_t first_tags[kTags] = {};
    bool read = false;
    for (const std::string& name : levels()) {
        use_level(name);
        uint64_t tags[kTags] = {};
        const bool now = !level().width(how.coding.symbol_bits)
                              .read(how.coding.codec, payload.data(), size, blocks, out.data(), tags);
        if (name == levels().front()) {
            read = now;
            std::memcpy(first.data(), out.data(), out.size());
            std::memcpy(first_tags, tags, sizeof tags);
        }
        REQUIRE(now == read);
        REQUIRE(!now || std::memcmp(first.data(), out.data(), out.size()) == 0);
        REQUIRE(!now || std::memcmp(first_tags, tags, sizeof tags) == 0);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
    if (size < kOptionBytes + kLengthBytes) return 0;
    const Options how = options(input);
    input += kOptionBytes;
    // Up to 16 MiB is claimed; memory is only asked for once the headers have justified it.
    const size_t bytes = input[0] | size_t{input[1]} << 8 | size_t{input[2]} << 16;
    Exact stream(input + kLengthBytes, size - kOptionBytes - kLengthBytes);
    read_payload(stream.data(), stream.size(), how, 1 + input[0] % kChunkBlocks);
    // A stream has the header of its first chunk in front.
    if (stream.size() > kHeaderBytes) {
        read_payload(stream.data() + kHeaderBytes, stream.size() - kHeaderBytes, how, kChunkBlocks);
    }
    const bool spans = checks(stream, bytes);
    Exact first(spans ? bytes : 0);
    bool read = false;
    for (const std::string& level : levels()) {
        use_level(level);
        Exact out(spans ? bytes : 0);
        const bool now = spans && decodes(stream, how, out);
        REQUIRE(inspects(stream, how.coding, bytes) == now);
        if (level == levels().front()) {
            read = now;
            if (now && bytes) std::memcpy(first.data(), out.data(), bytes);
        }
        REQUIRE(now == read);
        REQUIRE(!now || !bytes || std::memcmp(first.data(), out.data(), bytes) == 0);
    }
    return 0;
}
