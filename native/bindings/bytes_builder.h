// A Python bytes object that is filled before anyone else sees it, so that a result of unknown size
// takes no copy and no memory beside itself.
#pragma once

#include <nanobind/nanobind.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

class BytesBuilder {
public:
    explicit BytesBuilder(size_t size) {
        if (size > PY_SSIZE_T_MAX) throw std::bad_alloc();
        bytes_ = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size));
        if (!bytes_) throw nanobind::python_error();
        ask_for_huge_pages();
    }
    BytesBuilder(const BytesBuilder&) = delete;
    BytesBuilder& operator=(const BytesBuilder&) = delete;
    ~BytesBuilder() { Py_XDECREF(bytes_); }

    // The memory to fill; none once finished.
    uint8_t* data() const {
        return bytes_ ? reinterpret_cast<uint8_t*>(PyBytes_AsString(bytes_)) : nullptr;
    }
    size_t size() const { return bytes_ ? static_cast<size_t>(PyBytes_Size(bytes_)) : 0; }

    // The first `size` bytes, which were filled. No view of the memory may be used any more.
    nanobind::bytes finish(size_t size) {
        if (!bytes_ || size > this->size()) throw nanobind::value_error("not so many bytes left");
        PyObject* finished = bytes_;
        bytes_ = nullptr;
        if (_PyBytes_Resize(&finished, static_cast<Py_ssize_t>(size)) != 0) {
            throw nanobind::python_error();
        }
        return nanobind::steal<nanobind::bytes>(finished);
    }

private:
    // Faulting small pages in takes long beside encoding.
    void ask_for_huge_pages() const {
#if defined(__linux__)
        constexpr uintptr_t page = 4096, least = 4u << 20;
        const uintptr_t begin = (reinterpret_cast<uintptr_t>(data()) + page - 1) & ~(page - 1);
        const uintptr_t end = reinterpret_cast<uintptr_t>(data()) + size();
        if (end - begin >= least && end > begin) {
            madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
        }
#endif
    }

    PyObject* bytes_;
};
