/*
 * refuse.c
 *	  Refuses one in REFUSE calls for memory and threads of redblue.so, or of an OpenMP runtime
 *	  that it might load. To be preloaded into a server.
 *
 * Each process of the server may write at most REFUSE_TEMP_KB to temporary files; then the disk is
 * full.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static uint64_t calls;
static uint64_t one_in;

/* Refuses by chance, not by number, because a process makes too many calls to try all. */
static int
refuse(const void *caller)
{
	uint64_t x = __atomic_add_fetch(&calls, 0x9e3779b97f4a7c15u, __ATOMIC_RELAXED);
	Dl_info info;

	if (one_in == 0)
		return 0;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	x ^= x >> 31;
	if (x % one_in != 0 || dladdr(caller, &info) == 0 || info.dli_fname == NULL)
		return 0;
	return strstr(info.dli_fname, "redblue.so") != NULL ||
		   strstr(info.dli_fname, "libgomp") != NULL;
}

__attribute__((constructor)) static void
start(void)
{
	const char *text = getenv("REFUSE");

	one_in = text != NULL ? strtoull(text, NULL, 10) : 0;
}

/* Each process of the server has its own numbers. */
static int
refuse_here(const void *caller)
{
	static pid_t pid;

	if (pid != getpid())
	{
		pid = getpid();
		calls = (uint64_t) pid << 32;
	}
	if (!refuse(caller))
		return 0;
	errno = ENOMEM;
	return 1;
}

#define REFUSED refuse_here(__builtin_return_address(0))

void *
malloc(size_t size)
{
	return REFUSED ? NULL : __libc_malloc(size);
}

void *
calloc(size_t n, size_t size)
{
	return REFUSED ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *old, size_t size)
{
	return REFUSED ? NULL : __libc_realloc(old, size);
}

void *
aligned_alloc(size_t align, size_t size)
{
	return REFUSED ? NULL : __libc_memalign(align, size);
}

void *
mmap(void *at, size_t size, int access, int flags, int fd, off_t offset)
{
	return REFUSED ? MAP_FAILED : (void *) syscall(SYS_mmap, at, size, access, flags, fd, offset);
}

void *
mremap(void *at, size_t old, size_t size, int flags, ...)
{
	return REFUSED ? MAP_FAILED : (void *) syscall(SYS_mremap, at, old, size, flags);
}

int
pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*) (void *), void *);

	if (REFUSED)
		return EAGAIN;
	if (real == NULL)
		real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*) (void *), void *)) dlsym(
			RTLD_NEXT, "pthread_create");
	return real(thread, attr, start, arg);
}

/* ---- a disk that is full ---- */

static int
is_temporary(int fd)
{
	char link[40], path[500];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path - 1);
	path[n < 0 ? 0 : n] = '\0';
	return strstr(path, "pgsql_tmp") != NULL;
}

static ssize_t
write_at(int fd, const void *bytes, size_t n, off_t at)
{
	const char *limit = getenv("REFUSE_TEMP_KB");
	static uint64_t written;
	static pid_t pid;

	if (limit != NULL && is_temporary(fd))
	{
		if (pid != getpid())
			written = 0;
		pid = getpid();
		written += n;
		if (written > strtoull(limit, NULL, 10) * 1024)
		{
			errno = ENOSPC;
			return -1;
		}
	}
	return syscall(SYS_pwrite64, fd, bytes, n, at);
}

ssize_t
pwrite(int fd, const void *bytes, size_t n, off_t at)
{
	return write_at(fd, bytes, n, at);
}

ssize_t
pwrite64(int fd, const void *bytes, size_t n, off_t at)
{
	return write_at(fd, bytes, n, at);
}
