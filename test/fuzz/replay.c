/*
 * replay.c
 *	  Runs a fuzzing harness on files without the fuzzer: each file of the directories or paths
 *	  on the command line once.
 *
 * A crash or a failed check ends the program. The last line is the number of files.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static long replayed = 0;

static void
replay(const char *path)
{
	DIR *dir = opendir(path);
	FILE *file;
	uint8_t *bytes = NULL;
	size_t len = 0;
	size_t room = 0;
	size_t got;

	if (dir)
	{
		struct dirent *entry;

		while ((entry = readdir(dir)) != NULL)
		{
			char below[4096];

			if (entry->d_name[0] == '.')
				continue;
			snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
			replay(below);
		}
		closedir(dir);
		return;
	}
	file = fopen(path, "rb");
	if (!file)
	{
		perror(path);
		exit(1);
	}
	do
	{
		room = 2 * room + 4096;
		bytes = realloc(bytes, room);
		if (!bytes)
			exit(1);
		got = fread(bytes + len, 1, room - len, file);
		len += got;
	} while (got > 0);
	fclose(file);

	/* A block of the exact size, so that the sanitizer detects a read of one byte too many */
	{
		uint8_t *exact = malloc(len ? len : 1);

		if (!exact)
			exit(1);
		memcpy(exact, bytes, len);
		fprintf(stderr, "%s\n", path);
		LLVMFuzzerTestOneInput(exact, len);
		free(exact);
	}
	free(bytes);
	replayed++;
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	printf("%ld passed, 0 failed, 0 skipped\n", replayed);
	return replayed > 0 ? 0 : 1;
}
