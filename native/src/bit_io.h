// Bit streams, least significant bit first: bit k is bit k % 8 of byte k / 8.
#pragma once

#include "bits.h"

namespace planezip {
namespace {

constexpr unsigned kPutBits = 56;  // the most that one put() or peek() handles

// Writes to a buffer; may touch eight bytes beyond the last bit written.
class BitWriter {
public:
    explicit BitWriter(uint8_t* to) : start_(to), next_(to) {}

    // Appends the low `count` <= kPutBits bits of value, whose other bits are zero.
    void put(uint64_t value, unsigned count) {
        pending_ |= value << filled_;
        filled_ += count;
        store(next_, pending_);
        next_ += filled_ / 8;
        pending_ >>= filled_ & ~7u;
        filled_ &= 7;
    }

    // Appends a field of up to 64 bits.
    void put_long(uint64_t value, unsigned count) {
        if (count > 32) {
            put(value & 0xFFFFFFFF, 32);
            value >>= 32;
            count -= 32;
        }
        put(value, count);
    }

    // Appends whole bytes; may read and write up to seven beyond.
    void put_bytes(const uint8_t* from, unsigned count) {
        unsigned i = 0;
        for (; i + 4 <= count; i += 4) put(load<uint32_t>(from + i), 32);
        for (; i < count; ++i) put(from[i], 8);
    }

    uint64_t bits() const { return 8 * static_cast<uint64_t>(next_ - start_) + filled_; }

    // Pads with zero bits to a whole byte; returns the number of bytes written in all.
    size_t finish() { return static_cast<size_t>(bits() + 7) / 8; }

private:
    uint8_t* start_;
    uint8_t* next_;
    uint64_t pending_ = 0;
    unsigned filled_ = 0;
};

// Reads from a buffer without bounds: the caller leaves room behind it for the most that can be
// read between two looks at bits(). Reads up to eight bytes beyond the last bit taken.
class BitReader {
public:
    explicit BitReader(const uint8_t* from) : from_(from) {}

    // The next kPutBits bits or more, above them bits of no meaning.
    uint64_t peek() const { return load<uint64_t>(from_ + bits_ / 8) >> (bits_ % 8); }

    void skip(unsigned count) { bits_ += count; }

    uint64_t get(unsigned count) {
        const uint64_t value = peek() & low_bits<uint64_t>(count);
        skip(count);
        return value;
    }

    uint64_t get_long(unsigned count) {
        if (count <= kPutBits) return get(count);
        const uint64_t low = get(32);
        return low | get(count - 32) << 32;
    }

    // Takes whole bytes, an even number.
    void get_bytes(uint8_t* to, unsigned count) {
        unsigned i = 0;
        for (; i + 4 <= count; i += 4) store(to + i, static_cast<uint32_t>(get(32)));
        if (i < count) store(to + i, static_cast<uint16_t>(get(16)));
    }

    uint64_t bits() const { return bits_; }

private:
    const uint8_t* from_;
    uint64_t bits_ = 0;
};

}  // namespace
}  // namespace planezip
