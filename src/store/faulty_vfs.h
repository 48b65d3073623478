// For tests: SQLite's file layer with faults that can be switched on. Registered as the default, so that the
// code under test opens its files through it without knowing.
#pragma once

#include <sqlite3.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace slipway::store {

struct Faults {
  std::atomic<bool> full = false;  // writes say that the disk is full
  std::atomic<bool> sync_fails = false;
  std::atomic<int> syncs = 0;        // of the write-ahead log
  std::atomic<int> file_writes = 0;  // to the file itself: by checkpoints only
};

class FaultyVfs {
 public:
  FaultyVfs() {
    real_ = sqlite3_vfs_find("unix");
    vfs_ = *real_;
    vfs_.zName = "faulty";
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.xOpen = open;
    sqlite3_vfs_register(&vfs_, 1);
    current() = this;
  }
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;
  ~FaultyVfs() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(real_, 1);
    current() = nullptr;
  }

  Faults faults;

 private:
  // The real file follows in the same piece of memory.
  struct File {
    sqlite3_file base;
    sqlite3_io_methods methods;
    bool is_log;
    sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  };

  static FaultyVfs*& current() {
    static FaultyVfs* vfs = nullptr;
    return vfs;
  }
  static sqlite3_file* real(sqlite3_file* file) { return reinterpret_cast<File*>(file)->real(); }

  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    auto* ours = reinterpret_cast<File*>(file);
    std::memset(ours, 0, sizeof *ours);
    sqlite3_vfs* vfs = current()->real_;
    const int code = vfs->xOpen(vfs, name, ours->real(), flags, out_flags);
    if (ours->real()->pMethods == nullptr) return code;
    ours->is_log = (flags & SQLITE_OPEN_WAL) != 0;
    ours->methods = *ours->real()->pMethods;
    forward(ours->methods);
    ours->base.pMethods = &ours->methods;
    return code;
  }

  static int write(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 offset) {
    Faults& faults = current()->faults;
    if (faults.full) return SQLITE_FULL;
    if (!reinterpret_cast<File*>(file)->is_log) ++faults.file_writes;
    return real(file)->pMethods->xWrite(real(file), bytes, count, offset);
  }
  static int sync(sqlite3_file* file, int flags) {
    Faults& faults = current()->faults;
    if (reinterpret_cast<File*>(file)->is_log) ++faults.syncs;
    if (faults.sync_fails) return SQLITE_IOERR_FSYNC;
    return real(file)->pMethods->xSync(real(file), flags);
  }

  static void forward(sqlite3_io_methods& m) {
    m.iVersion = 3;
    m.xWrite = write;
    m.xSync = sync;
    m.xClose = [](sqlite3_file* f) { return real(f)->pMethods->xClose(real(f)); };
    m.xRead = [](sqlite3_file* f, void* b, int n, sqlite3_int64 o) {
      return real(f)->pMethods->xRead(real(f), b, n, o);
    };
    m.xTruncate = [](sqlite3_file* f, sqlite3_int64 n) { return real(f)->pMethods->xTruncate(real(f), n); };
    m.xFileSize = [](sqlite3_file* f, sqlite3_int64* n) { return real(f)->pMethods->xFileSize(real(f), n); };
    m.xLock = [](sqlite3_file* f, int l) { return real(f)->pMethods->xLock(real(f), l); };
    m.xUnlock = [](sqlite3_file* f, int l) { return real(f)->pMethods->xUnlock(real(f), l); };
    m.xCheckReservedLock = [](sqlite3_file* f, int* r) {
      return real(f)->pMethods->xCheckReservedLock(real(f), r);
    };
    m.xFileControl = [](sqlite3_file* f, int op, void* a) {
      return real(f)->pMethods->xFileControl(real(f), op, a);
    };
    m.xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); };
    m.xDeviceCharacteristics = [](sqlite3_file* f) {
      return real(f)->pMethods->xDeviceCharacteristics(real(f));
    };
    m.xShmMap = [](sqlite3_file* f, int p, int n, int e, void volatile** r) {
      return real(f)->pMethods->xShmMap(real(f), p, n, e, r);
    };
    m.xShmLock = [](sqlite3_file* f, int o, int n, int l) {
      return real(f)->pMethods->xShmLock(real(f), o, n, l);
    };
    m.xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); };
    m.xShmUnmap = [](sqlite3_file* f, int d) { return real(f)->pMethods->xShmUnmap(real(f), d); };
    m.xFetch = [](sqlite3_file*, sqlite3_int64, int, void** p) {
      *p = nullptr;
      return SQLITE_OK;
    };
    m.xUnfetch = [](sqlite3_file*, sqlite3_int64, void*) { return SQLITE_OK; };
  }

  sqlite3_vfs* real_;
  sqlite3_vfs vfs_;
};

}  // namespace slipway::store
