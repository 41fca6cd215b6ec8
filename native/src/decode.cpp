#include <string>
#include <vector>

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
        const size_t size = load<uint16_t>(next);
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
    if (const char* fault = functions.decode(codec, payload, size, reader.blocks(), dst,
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

// Readers at the first chunk of each worker. Throws unless the chunks span the stream exactly.
std::vector<Reader> split(const uint8_t* stream, size_t stream_bytes, size_t bytes,
                          unsigned workers) {
    const size_t chunks = chunk_count(bytes);
    std::vector<Reader> readers;
    Reader reader{stream, stream + stream_bytes, bytes};
    for (unsigned worker = 0; worker < workers; ++worker) {
        readers.push_back(reader);
        const Range range = share(chunks, workers, worker);
        while (reader.index < range.end) reader.advance();
    }
    if (reader.left() != 0) throw CorruptStream("there are bytes behind the last chunk");
    return readers;
}

}  // namespace

void check_chunks(const uint8_t* stream, size_t stream_bytes, size_t bytes) {
    split(stream, stream_bytes, bytes, 1);
}

size_t span_chunks(const uint8_t* stream, size_t stream_bytes, size_t bytes) {
    Reader reader{stream, stream + stream_bytes, bytes};
    while (reader.index < chunk_count(bytes)) reader.advance();
    return static_cast<size_t>(reader.next - stream);
}

void decode(const uint8_t* stream, size_t stream_bytes, Coding coding, unsigned threads,
            uint8_t* dst, size_t bytes) {
    const ChunkFunctions& functions = level().width(coding.symbol_bits);
    const size_t chunks = chunk_count(bytes);
    const unsigned workers = worker_count(chunks, threads);
    const std::vector<Reader> readers = split(stream, stream_bytes, bytes, workers);
    for_each_worker(workers, [&](unsigned worker) {
        Contents contents = {};
        Reader reader = readers[worker];
        const size_t end = share(chunks, workers, worker).end;
        for (; reader.index < end; reader.advance()) {
            uint8_t* to = dst + reader.index * kChunkBytes;
            read_contents(reader, coding.codec, functions, to, contents);
        }
    });
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
