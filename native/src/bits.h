// Bit arithmetic on words, and unaligned little-endian access.
//
// Everything that a level compiles is a template or in an unnamed namespace: levels are compiled
// for different processors, and the linker must not merge their functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace planezip {
namespace {

template <class Word>
inline Word load(const void* from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    return word;
}

template <class Word>
inline void store(void* to, Word word) {
    std::memcpy(to, &word, sizeof word);
}

// memcpy() by whole cache lines of the target: what encoders have just written, a chunk at a time,
// goes on to where it has not been cached yet at next to no cost.
inline void copy_lines(uint8_t* to, const uint8_t* from, size_t bytes) {
    typedef uint64_t Line __attribute__((vector_size(64), may_alias));
    const size_t misaligned = reinterpret_cast<uintptr_t>(to) % sizeof(Line);
    const size_t head = misaligned ? sizeof(Line) - misaligned : 0;
    if (bytes < head + sizeof(Line)) {
        std::memcpy(to, from, bytes);
        return;
    }
    std::memcpy(to, from, head);
    size_t i = head;
    for (; i + sizeof(Line) <= bytes; i += sizeof(Line)) {
        *reinterpret_cast<Line*>(to + i) = load<Line>(from + i);
    }
    std::memcpy(to + i, from + i, bytes - i);
}

// The lowest `count` bits set; count may be the width of the word.
template <class Word>
constexpr Word low_bits(unsigned count) {
    return count == 0 ? Word{0} : static_cast<Word>(~Word{0}) >> (8 * sizeof(Word) - count);
}

inline unsigned popcount(uint64_t x) {
#ifdef __POPCNT__
    return static_cast<unsigned>(__builtin_popcountll(x));
#else
    x -= (x >> 1) & 0x5555555555555555;
    x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333);
    x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0F;
    return static_cast<unsigned>((x * 0x0101010101010101) >> 56);
#endif
}

// Index of the lowest set bit; x != 0.
inline unsigned lowest_bit(uint64_t x) { return static_cast<unsigned>(__builtin_ctzll(x)); }

// Index of the highest set bit; x != 0.
inline unsigned highest_bit(uint64_t x) { return 63 - static_cast<unsigned>(__builtin_clzll(x)); }

// Bits of a field that holds 0 ... count - 1; count >= 1.
constexpr unsigned field_bits(unsigned count) {
    return count == 1 ? 0 : 32 - static_cast<unsigned>(__builtin_clz(count - 1));
}

}  // namespace
}  // namespace planezip
