// clock.c moves the wall clock of one program, as LD_PRELOAD. The harness writes how far and how fast
// into a file, which this maps at the first call. Other clocks stay right.
//
// It needs no library, not even libc's dlsym, whose first call allocates: a server's allocator may
// ask for the time before it can allocate.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

// setting: the clock shows offset more than the right time, and since then drift more for each
// nanosecond. Times are in ns.
struct setting { int64_t offset, since; double drift; };

// The harness writes settings[(version+1)%2], then version+1.
struct file { int64_t version; struct setting settings[2]; };

static struct file *mapped(void) {
	static struct file *file; // several threads may map it at once, to the same effect
	struct file *f = __atomic_load_n(&file, __ATOMIC_ACQUIRE);
	if (f) return f;
	int fd = open("/clock/setting", O_RDONLY | O_CLOEXEC);
	if (fd < 0) return 0;
	f = mmap(0, sizeof *f, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (f == MAP_FAILED) return 0;
	__atomic_store_n(&file, f, __ATOMIC_RELEASE);
	return f;
}

// shown is what the moved clock shows, in ns since 1970.
static int64_t shown(void) {
	struct timespec t;
	syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
	int64_t now = t.tv_sec * 1000000000LL + t.tv_nsec, version;
	struct file *f = mapped();
	struct setting s;
	if (!f) return now;
	do {
		version = __atomic_load_n(&f->version, __ATOMIC_ACQUIRE);
		s = f->settings[version & 1];
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&f->version, __ATOMIC_RELAXED) != version);
	return now + s.offset + (int64_t)((double)(now - s.since) * s.drift);
}

int clock_gettime(clockid_t clock, struct timespec *t) {
	if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return syscall(SYS_clock_gettime, clock, t);
	int64_t now = shown();
	t->tv_sec = now / 1000000000;
	t->tv_nsec = now % 1000000000;
	return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
	(void)zone;
	int64_t now = shown() / 1000;
	t->tv_sec = now / 1000000;
	t->tv_usec = now % 1000000;
	return 0;
}

time_t time(time_t *t) {
	time_t now = shown() / 1000000000;
	if (t) *t = now;
	return now;
}
