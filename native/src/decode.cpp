#include <mutex>
#include <string>

#include "bits.h"
#include "input.h"
#include "level.h"
#include "parallel.h"

namespace planezip {
namespace {

[[noreturn]] void refuse(size_t chunk, const char* why) {
    throw CorruptStream("chunk " + std::to_string(chunk) + ": " + why);
}

// Walks the chunks of a stream and bounds every step.
struct Reader {
    const uint8_t* next;
    const uint8_t* end;
    size_t bytes;  // of contents in the whole stream
    size_t index = 0;

    size_t left() const { return static_cast<size_t>(end - next); }
    unsigned blocks() const { return chunk_blocks(bytes, index); }
    size_t raw_bytes() const { return size_t{blocks()} * kBlockBytes; }

    // The payload size of the chunk at hand, all of which lies before `end`.
    size_t size() const {
        if (left() < kHeaderBytes) refuse(index, "the stream ends before it");
        // Volatile: read once, for another thread may change the stream between two looks.
        const volatile uint8_t* const header = next;
        const size_t size = header[0] | size_t{header[1]} << 8;
        if (size == 0 || size > raw_bytes()) refuse(index, "its size is impossible");
        if (size > left() - kHeaderBytes) refuse(index, "the stream ends inside it");
        return size;
    }

    const uint8_t* payload() const { return next + kHeaderBytes; }

    void advance() {
        next += kHeaderBytes + size();
        ++index;
    }
};

// Writes the whole blocks of the chunk at hand to dst.
void read_chunk(const Reader& reader, Codec codec, const ChunkFunctions& functions, uint8_t* dst,
                Contents& contents) {
    const size_t size = reader.size();
    const uint8_t* payload = reader.payload();
    if (size == reader.raw_bytes()) {
        std::memcpy(dst, payload, size);
        ++contents.raw_chunks;
        contents.tag_blocks[kRaw] += reader.blocks();
        return;
    }
    uint8_t with_slack[kChunkBytes + kReadSlack];
    if (reader.left() - kHeaderBytes < size + kReadSlack) {
        std::memcpy(with_slack, payload, size);
        std::memset(with_slack + size, 0, kReadSlack);
        payload = with_slack;
    }
    ++contents.encoded_chunks;
    if (const char* fault = functions.read(codec, payload, size, reader.blocks(), dst,
                                             contents.tag_blocks)) {
        refuse(reader.index, fault);
    }
}

// Writes the contents of the last chunk's partial block by way of a buffer; the rest must be zero.
void read_partial_chunk(const Reader& reader, Codec codec, const ChunkFunctions& functions,
                        uint8_t* dst, Contents& contents) {
    uint8_t whole[kChunkBytes];
    read_chunk(reader, codec, functions, whole, contents);
    const size_t kept = chunk_contents(reader.bytes, reader.index);
    for (size_t i = kept; i < reader.raw_bytes(); ++i) {
        if (whole[i] != 0) refuse(reader.index, "the padding of the last block is not zero");
    }
    std::memcpy(dst, whole, kept);
}

void read_contents(const Reader& reader, Codec codec, const ChunkFunctions& functions, uint8_t* dst,
                   Contents& contents) {
    const bool partial = chunk_contents(reader.bytes, reader.index) % kBlockBytes != 0;
    (partial ? read_partial_chunk : read_chunk)(reader, codec, functions, dst, contents);
}

// Deals out the chunks of a stream in order, to threads that decode them at the same time, and
// keeps the fault of the lowest chunk that has one.
class Dealer {
public:
    Dealer(const uint8_t* stream, size_t stream_bytes, size_t bytes)
        : reader_{stream, stream + stream_bytes, bytes}, chunks_(chunk_count(bytes)) {}

    // Sets `first` at the next chunks and returns how many they are; 0 if none are left, or one has
    // a fault.
    size_t deal(Reader& first) {
        const std::lock_guard<SpinLock> guard(lock_);
        if (fault_) return 0;
        first = reader_;
        try {
            while (reader_.index < std::min(first.index + kHand, chunks_)) reader_.advance();
        } catch (const CorruptStream&) {
            note(reader_.index);
        }
        return reader_.index - first.index;
    }

    // To be called where a chunk's fault was caught.
    void fault(size_t chunk) {
        const std::lock_guard<SpinLock> guard(lock_);
        note(chunk);
    }

    // Throws the fault that was kept, and if the stream does not end with its last chunk.
    void finish() const {
        if (fault_) std::rethrow_exception(fault_);
        if (reader_.left() != 0) throw CorruptStream("there are bytes behind the last chunk");
    }

private:
    static constexpr size_t kHand = 32;

    void note(size_t chunk) {
        if (fault_ && chunk >= faulty_) return;
        fault_ = std::current_exception();
        faulty_ = chunk;
    }

    SpinLock lock_;
    Reader reader_;
    const size_t chunks_;
    std::exception_ptr fault_;
    size_t faulty_ = 0;
};

}  // namespace

size_t span_chunks(const uint8_t* stream, size_t stream_bytes, size_t bytes) {
    Reader reader{stream, stream + stream_bytes, bytes};
    while (reader.index < chunk_count(bytes)) reader.advance();
    return static_cast<size_t>(reader.next - stream);
}

void check_chunks(const uint8_t* stream, size_t stream_bytes, size_t bytes) {
    if (span_chunks(stream, stream_bytes, bytes) != stream_bytes) {
        throw CorruptStream("there are bytes behind the last chunk");
    }
}

void decode(const uint8_t* stream, size_t stream_bytes, Coding coding, unsigned threads,
            uint8_t* dst, size_t bytes) {
    const ChunkFunctions& functions = level().width(coding.symbol_bits);
    Dealer dealer(stream, stream_bytes, bytes);
    for_each_worker(worker_count(chunk_count(bytes), threads), [&](unsigned) {
        Contents contents = {};
        Reader reader = {};
        while (size_t count = dealer.deal(reader)) {
            try {
                for (; count > 0; --count, reader.advance()) {
                    uint8_t* to = dst + reader.index * kChunkBytes;
                    read_contents(reader, coding.codec, functions, to, contents);
                }
            } catch (const CorruptStream&) {
                dealer.fault(reader.index);
            }
        }
    });
    dealer.finish();
}

Contents inspect(const uint8_t* stream, size_t stream_bytes, Coding coding, size_t bytes) {
    const ChunkFunctions& functions = level().width(coding.symbol_bits);
    check_chunks(stream, stream_bytes, bytes);
    Contents contents = {};
    uint8_t unwanted[kChunkBytes];
    Reader reader{stream, stream + stream_bytes, bytes};
    for (; reader.index < chunk_count(bytes); reader.advance()) {
        read_contents(reader, coding.codec, functions, unwanted, contents);
    }
    return contents;
}

}  // namespace planezip
