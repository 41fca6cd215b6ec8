// Bit streams, least significant bit first: bit k is bit k % 8 of byte k / 8.
#pragma once

#include "bits.h"

namespace planezip {
namespace {

constexpr unsigned kPutBits = 56;  // the most that one put() or peek() handles

// Writes to a buffer; may touch sixteen bytes beyond the last bit written.
class BitWriter {
public:
    explicit BitWriter(uint8_t* to) : next_(to) {}

    // Appends the low `count` <= kPutBits bits of value, whose other bits are zero.
    void put(uint64_t value, unsigned count) {
        pending_ |= value << filled_;
        filled_ += count;
        store(next_, pending_);
        next_ += filled_ / 8;
        pending_ >>= filled_ & ~7u;
        filled_ &= 7;
    }

    // Appends a field of up to 64 bits, whose other bits are zero.
    void put_long(uint64_t value, unsigned count) {
        const uint64_t low = pending_ | value << filled_, high = value >> 1 >> (63 - filled_);
        append(low, high, count);
    }

    // Appends a one, and a field of up to 64 bits.
    void put_flagged(uint64_t value, unsigned count) {
        const uint64_t low = pending_ | (value << 1 | 1) << filled_;
        append(low, value >> (63 - filled_), count + 1);
    }

    // Appends whole bytes, a multiple of 2; may read up to seven beyond.
    void put_bytes(const uint8_t* from, unsigned count) {
        for (; count >= 8; from += 8, count -= 8) put_long(load<uint64_t>(from), 64);
        put(load<uint64_t>(from) & low_bits<uint64_t>(8 * count), 8 * count);
    }

    // For whole vectors: where the bits go that come next, from bit filled() < 8 of the first byte
    // on, below which pending() is to be kept.
    uint8_t* next() const { return next_; }
    unsigned filled() const { return filled_; }
    uint64_t pending() const { return pending_; }

    // Goes past `count` bits that were written there. `last` has the ones that are in the last byte
    // if that is not full.
    void written(unsigned count, uint64_t last) {
        filled_ += count;
        next_ += filled_ / 8;
        filled_ &= 7;
        pending_ = last;
    }

    // Clears what vectors may have left in the last byte.
    void finish() {
        if (filled_) *next_ = static_cast<uint8_t>(pending_);
    }

private:
    // Stores what is pending with what comes next, `count` bits more.
    void append(uint64_t low, uint64_t high, unsigned count) {
        store(next_, low);
        store(next_ + 8, high);
        filled_ += count;
        next_ += filled_ / 8;
        const unsigned done = filled_ & ~7u;
        pending_ = done < 64 ? low >> done : high >> (done - 64);
        filled_ &= 7;
    }

    uint8_t* next_;
    uint64_t pending_ = 0;
    unsigned filled_ = 0;
};

// Reads from a buffer without bounds: the caller leaves room behind it for the most that can be
// read between two looks at bits(). Reads up to nine bytes beyond the last bit taken.
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
        const uint64_t ninth = next()[8];
        const uint64_t value = (peek() | ninth << 1 << (63 - shift())) & low_bits<uint64_t>(count);
        skip(count);
        return value;
    }

    // Takes whole bytes; may write up to seven beyond.
    void get_bytes(uint8_t* to, unsigned count) {
        const uint64_t end = bits_ + 8 * count;
        for (unsigned i = 0; i < count; i += 8) store(to + i, get_long(64));
        bits_ = end;
    }

    uint64_t bits() const { return bits_; }

    // For whole vectors: the byte that holds the next bit, and where in it that is.
    const uint8_t* next() const { return from_ + bits_ / 8; }
    unsigned shift() const { return bits_ % 8; }

private:
    const uint8_t* from_;
    uint64_t bits_ = 0;
};

}  // namespace
}  // namespace planezip
