# Builds and tests redblue: exact joins of tables of triangles, segments and boxes.
#
#   make && make install          build and install into the PostgreSQL of PG_CONFIG
#   make installcheck             pg_regress against a running server
#   make demo                     install what is missing, build, join two meshes, draw them
#   make faces-check              triangles of real and random faces against CGAL
#   make test                     install what is missing, build, test every feature once
#   make test-all                 install what is missing, build, run every test
#   make dist                     a zip for PGXN
#   make deb                      Debian packages
#   make test-qgis                the recipes' layers in QGIS, where it is installed
#
# A PGXS makefile: PG_CONFIG=/path/to/pg_config selects the server.  The CUDA backend is a separate
# shared object, built if nvcc is found.  Scripts that start servers or install packages are in test/.

PG_CONFIG ?= pg_config
NVCC ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc) nvcc)
CLANG_FORMAT ?= $(firstword $(shell command -v clang-format-14 2>/dev/null) clang-format-14)
FUZZ_CC ?= $(notdir $(firstword $(shell command -v clang-14 clang 2>/dev/null) clang))
FUZZ_SECONDS ?= 60
BUILD = build
COMMA = ,

# make WERROR=-Werror turns warnings into errors.  Tests use it, but not installations, whose compilers may be newer.
WERROR ?=

CORE_SRC = $(sort $(wildcard src/core/*/*.c src/mesh/*.c src/mesh/*/*.c src/refine/*.c))
CORE_H = $(wildcard src/core/*/*.h src/mesh/*.h src/mesh/*/*.h src/refine/*.h)
PG_SRC = $(sort $(wildcard src/pg/*.c src/pg/*/*.c))
CUDA_SRC = $(sort $(wildcard cuda/*.cu))

# ---- flags ----

# A fused multiply-add or a reordered sum breaks an error bound: do not use -march=native or -ffast-math.
EXACT_CFLAGS = -ffp-contract=off -fno-fast-math -fno-unsafe-math-optimizations
WARN_CFLAGS = -Wall -Wextra -Wdeclaration-after-statement -Werror=vla $(WERROR)
# EXTRA_CFLAGS: flags with which a distribution compiles all of its packages
CORE_CFLAGS = -std=gnu99 -O3 -g -fno-strict-aliasing $(EXACT_CFLAGS) $(WARN_CFLAGS) -fvisibility=hidden -pthread -Isrc $(EXTRA_CFLAGS)
CORE_LIBS = -lgmp -lm -lpthread -ldl

# Threads of a join (parallel.h): pthread (our own), or openmp for the core without a server (make PARALLEL=openmp
# core-test, bench).  A server must not use openmp, whose runtime ends the process if it gets no thread or memory.
PARALLEL ?= pthread
OPENMP_CFLAGS = -fopenmp -DRB_OPENMP

# ---- the extension (PGXS) ----

MODULE_big = redblue
EXTENSION = redblue redblue_postgis
OBJS = $(CORE_SRC:.c=.o) $(PG_SRC:.c=.o)
DATA = $(wildcard sql/redblue--*.sql sql/redblue_postgis--*.sql) $(wildcard sql/versions/redblue--*.sql)
# The update script is generated from the scripts of both versions.
DATA_built = $(BUILD)/redblue--0.1.0--0.2.0.sql

HAVE_POSTGIS = $(wildcard $(shell $(PG_CONFIG) --sharedir 2>/dev/null)/extension/postgis.control)
# make installcheck BUT=topic omits a topic.
TOPICS = $(sort $(filter-out redblue--% redblue_postgis--%,$(notdir $(basename $(wildcard sql/*.sql)))))
HAVE_CUBE = $(wildcard $(shell $(PG_CONFIG) --sharedir 2>/dev/null)/extension/cube.control)
REGRESS = $(filter-out $(BUT) $(if $(HAVE_POSTGIS),,postgis%) $(if $(HAVE_CUBE),,cube%),$(TOPICS))

PG_CPPFLAGS = -Isrc
PG_CFLAGS = $(EXACT_CFLAGS) -pthread -MMD -MP
SHLIB_LINK = -Wl,--version-script=src/exports.map -lgmp -pthread -lm -ldl
EXTRA_CLEAN = $(BUILD) redblue_cuda.so $(wildcard $(foreach e,d o bc,src/*/*.$e src/*/*/*.$e))

# The server does not inline our functions, so it needs no bitcode.
override with_llvm = no

PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
PG_MAJOR := $(shell $(PG_CONFIG) --version 2>/dev/null | sed 's/[^0-9]*\([0-9]*\).*/\1/')
SERVER_DEV = postgresql-server-dev-$(or $(PG_MAJOR),$(shell PG_CONFIG= test/server major),all)
ifneq ($(wildcard $(PGXS)),)
include $(PGXS)
else
all install installcheck:
	@echo "redblue: no PostgreSQL server headers found through '$(PG_CONFIG)'."
	@echo "  Debian:  apt-get install $(SERVER_DEV)"
	@echo "  else:    make PG_CONFIG=/path/to/pg_config"
	@false
clean:
	rm -rf $(EXTRA_CLEAN)
endif

# The core is compiled as in its tests, without headers of the server.
$(CORE_SRC:.c=.o): override CFLAGS := $(CORE_CFLAGS) -fPIC -MMD -MP
$(CORE_SRC:.c=.o): override CPPFLAGS :=
# -Wextra applies to our code, but not to the server's headers: -isystem suppresses warnings from their macros.  The
# compiler may not know all flags with which another compiler built the server.
$(PG_SRC:.c=.o): override CFLAGS += $(WARN_CFLAGS) -Wno-unused-parameter -Wno-unknown-warning-option -Wno-ignored-optimization-argument
$(PG_SRC:.c=.o): override CPPFLAGS := -isystem $(shell $(PG_CONFIG) --includedir-server 2>/dev/null) $(CPPFLAGS)
$(OBJS): | $(BUILD)/checked
-include $(OBJS:.o=.d)

# The server for which objects were compiled.  For another server, they are compiled again.
$(PG_SRC:.c=.o): $(BUILD)/server
$(BUILD)/server: FORCE
	@mkdir -p $(@D)
	@$(PG_CONFIG) --version --configure --cc --cflags >$@.now && { cmp -s $@.now $@ || cp $@.now $@; }
.PHONY: FORCE
FORCE:

# The install script is committed, so that installing it takes no tool; `make layers` compares it with its table.
SCRIPT = $(wildcard sql/redblue--*.sql)
.PHONY: script
script:
	@mkdir -p $(BUILD)
	awk -f sql/src/generate.awk sql/src/redblue.sql.in >$(BUILD)/script.sql && cp $(BUILD)/script.sql $(SCRIPT)

$(BUILD)/redblue--0.1.0--0.2.0.sql: sql/versions/upgrade.awk sql/versions/redblue--0.1.0.sql sql/versions/redblue--0.1.0--0.2.0.in sql/redblue--0.2.0.sql
	@mkdir -p $(@D)
	awk -f $^ >$@.new && mv $@.new $@

# Report missing headers in one line instead of a page of compiler errors.
$(BUILD)/checked: $(BUILD)/server
	@if [ ! -e "$$($(PG_CONFIG) --includedir-server)/postgres.h" ]; then \
		echo "redblue: postgres.h not found.  Debian: apt-get install $(SERVER_DEV)"; exit 1; fi
	@if ! echo '#include <gmp.h>' | $(CC) $(CPPFLAGS) -E - >/dev/null 2>&1; then \
		echo "redblue: gmp.h not found.  Debian: apt-get install libgmp-dev"; exit 1; fi
	@mkdir -p $(@D) && touch $@

# ---- the CUDA backend: its own shared object, opened on first use ----

# Machine code for every GPU from Turing to Hopper (86 also runs on 89); newer ones compile the PTX.  The runtime is
# linked statically, so that the file can be opened without a driver.
CUDA_ARCHS ?= 75 80 86 90
CUDA_PTX ?= 90
NVCC_FLAGS = -O3 -std=c++17 --fmad=false -Isrc -Icuda --cudart static \
	$(foreach a,$(CUDA_ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) \
	-gencode arch=compute_$(CUDA_PTX),code=compute_$(CUDA_PTX) \
	-Xcompiler -fPIC,-fvisibility=hidden,-ffp-contract=off,-Wall
# When it is opened, it receives a table of the core functions that it needs.
CUDA_OBJS = $(patsubst %.cu,$(BUILD)/%.o,$(CUDA_SRC))

# The GPUs for which it was compiled.  For others, it is compiled again.
$(CUDA_OBJS): $(BUILD)/archs
$(BUILD)/archs: FORCE
	@mkdir -p $(@D)
	@echo "CUDA_ARCHS='$(CUDA_ARCHS)' CUDA_PTX='$(CUDA_PTX)'" >$@.now && { cmp -s $@.now $@ || cp $@.now $@; }

.PHONY: cuda install-cuda uninstall-rest
ifeq ($(CUDA_SRC),)
cuda install-cuda:
else ifeq ($(shell command -v $(NVCC) 2>/dev/null),)
cuda install-cuda:
	@echo "redblue: nvcc not found, the CUDA backend is left out (the CPU backend gives the same answers)"
else
cuda: redblue_cuda.so
install-cuda: redblue_cuda.so
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)'
	$(INSTALL_SHLIB) redblue_cuda.so '$(DESTDIR)$(pkglibdir)/redblue_cuda.so'
endif
# Compile nothing without a server's headers, because that takes minutes, and everything would fail afterwards.
ifneq ($(wildcard $(PGXS)),)
all: cuda
install: install-cuda
# The backend's file, and scripts of earlier versions
uninstall: uninstall-rest
uninstall-rest:
	rm -f '$(DESTDIR)$(pkglibdir)/redblue_cuda.so' $(foreach e,$(EXTENSION),'$(DESTDIR)$(datadir)/extension'/$e--*.sql)
endif
ifneq ($(filter all install,$(or $(MAKECMDGOALS),all)),)
$(CUDA_OBJS): | $(BUILD)/checked
endif

$(BUILD)/cuda/%.o: cuda/%.cu
	@mkdir -p $(@D)
	$(NVCC) $(NVCC_FLAGS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<
-include $(CUDA_OBJS:.o=.d)
redblue_cuda.so: $(CUDA_OBJS) cuda/exports.map
	$(NVCC) -shared --cudart static -Xlinker --version-script=cuda/exports.map -Xlinker -z,defs -o $@ $(CUDA_OBJS) -lpthread -ldl -lrt

# test/cuda: comparison of the device with the CPU, and its speed.  These need a GPU.
CUDA_HOME = $(patsubst %/bin/nvcc,%,$(realpath $(shell command -v $(NVCC) 2>/dev/null)))
CUDA_RUNTIME = -L$(CUDA_HOME)/lib64 -lcudart_static -ldl -lrt
GPU_TOOLS = $(addprefix $(BUILD)/gpu/,check bench workloads hog cards)
GPU_CORE = $(patsubst %.c,$(BUILD)/core/%.o,$(CORE_SRC))

.PHONY: gpu-tools gpu-check gpu-bench
gpu-tools: redblue_cuda.so $(GPU_TOOLS) $(BUILD)/gpu/spheres $(BUILD)/gpu/refine $(BUILD)/volmesh
$(BUILD)/gpu/%.o: test/cuda/%.c $(wildcard test/core/*.h test/bench/*.h test/cuda/*.h) $(CORE_H)
	@mkdir -p $(@D)
	$(CC) $(CORE_CFLAGS) -Itest/core -Itest/bench -I$(CUDA_HOME)/include -c -o $@ $<
$(GPU_TOOLS): $(BUILD)/gpu/%: $(BUILD)/gpu/%.o $(addprefix $(BUILD)/core/test/,core/check.o core/fixtures.o bench/input.o bench/workload.o) $(GPU_CORE)
	$(CC) $(CORE_CFLAGS) -o $@ $^ $(CUDA_RUNTIME) $(CORE_LIBS)
$(BUILD)/gpu/refine: $(BUILD)/gpu/refine.o $(addprefix $(BUILD)/core/test/bench/,plc_input.o tets_output.o) $(GPU_CORE)
	$(CC) $(CORE_CFLAGS) -o $@ $^ $(CUDA_RUNTIME) $(CORE_LIBS)
# Signs that no kernel of the backend uses yet
$(BUILD)/gpu/spheres: test/cuda/spheres.cu $(wildcard test/core/*.h) $(CORE_H) $(BUILD)/core/test/core/check.o $(GPU_CORE)
	@mkdir -p $(@D)
	$(NVCC) $(NVCC_FLAGS) -Itest/core -o $@ $< $(BUILD)/core/test/core/check.o $(GPU_CORE) $(CORE_LIBS)
gpu-check: gpu-tools
	@test/cuda/run check sql crowd
gpu-bench: gpu-tools
	@test/cuda/run bench

# ---- core alone: C tests without a server, in seven builds ----

# Builds: of the extension's own objects, plain, with OpenMP, with each of two groups of sanitizers, for Valgrind, and
# with tiny tiles and buffers (base.h)
# test/core/FOLDER/FILE.c and FILE_WORD.c test src/core/FOLDER/FILE.c, src/mesh/FILE.c or src/refine/FILE.c;
# test/core/*.c are shared.
CORE_TESTS = $(sort $(patsubst test/core/%.c,%,$(wildcard test/core/*/*.c test/core/*/*/*.c)))
# Tests that have no name of a file in src, except the one of the whole core
TESTED = $(patsubst src/%,%,$(patsubst src/core/%,%,$(basename $(CORE_SRC) $(CORE_H))))
STRAY_TESTS = $(filter-out $(TESTED) $(addsuffix _%,$(TESTED)) exec/system_failures,$(CORE_TESTS))
FUZZERS = $(sort $(notdir $(basename $(wildcard test/fuzz/fuzz_*.c))))
TEST_HELPERS = $(wildcard test/core/*.c) test/bench/workload.c
# Lines without local variables take a third less time to compile.
ASAN_CFLAGS = -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
TSAN_CFLAGS = -O1 -g1 -fno-omit-frame-pointer -fsanitize=thread
# The build that is measured
ALONE = $(if $(filter openmp,$(PARALLEL)),openmp,core)
ALONE_CFLAGS = $(CORE_CFLAGS) $(if $(filter openmp,$(PARALLEL)),$(OPENMP_CFLAGS))

# Third argument of core_variant: sources that a build omits, because none of its tests needs them
core_objs = $(patsubst %.c,$(BUILD)/$(1)/%.o,$(filter-out $(2),$(CORE_SRC)) $(TEST_HELPERS))
core_bins = $(addprefix $(BUILD)/$(1)/,$(CORE_TESTS))

define core_variant
$(BUILD)/$(1)/%.o: %.c
	@mkdir -p $$(@D)
	$(CC) $(CORE_CFLAGS) $(2) -Itest/core -MMD -MP -c -o $$@ $$<
$(call core_bins,$(1)): $(BUILD)/$(1)/%: $(BUILD)/$(1)/test/core/%.o $(call core_objs,$(1),$(3))
	@mkdir -p $$(@D)
	$(CC) $(CORE_CFLAGS) $(2) -o $$@ $$^ $$(CORE_LIBS)
-include $(patsubst %.o,%.d,$(call core_objs,$(1)) $(addprefix $(BUILD)/$(1)/test/core/,$(addsuffix .d,$(CORE_TESTS))))
endef
$(eval $(call core_variant,core,))
$(eval $(call core_variant,openmp,-g1 $(OPENMP_CFLAGS),$(if $(filter openmp,$(PARALLEL)),,src/mesh/% src/refine/%)))
$(eval $(call core_variant,asan,$(ASAN_CFLAGS)))
$(eval $(call core_variant,tsan,$(TSAN_CFLAGS)))
$(eval $(call core_variant,valgrind,-O1))
$(eval $(call core_variant,small,-g1 -DRB_SMALL,src/refine/%))
# The quick build reuses the extension's objects of the core.  The others need not be fast.
$(BUILD)/quick/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CORE_CFLAGS) -O1 -g1 -Itest/core -MMD -MP -c -o $@ $<
$(call core_bins,quick): $(BUILD)/quick/%: $(BUILD)/quick/test/core/%.o $(patsubst %.c,$(BUILD)/quick/%.o,$(TEST_HELPERS)) $(CORE_SRC:.c=.o)
	@mkdir -p $(@D)
	$(CC) $(CORE_CFLAGS) -o $@ $^ $(CORE_LIBS)
-include $(wildcard $(BUILD)/quick/test/*/*.d $(BUILD)/quick/test/core/*/*.d $(BUILD)/quick/test/core/*/*/*.d)
# In the sanitizers' builds, the linker redirects these functions instead of the program.
$(BUILD)/asan/exec/system_failures $(BUILD)/tsan/exec/system_failures: CORE_LIBS += $(addprefix -Wl$(COMMA)--wrap=,\
	malloc calloc realloc aligned_alloc mmap munmap mremap pthread_create)
.SECONDARY:

# Tests that use threads
THREADED = base/parallel exec/pair_coding exec/stream join/cpu_join join/cpu_join_kinds nearest/nearest set/cache set/delta_set set/set
# Tests for which tiny tiles and buffers make a difference
SMALL = base/parallel exec/aggregate exec/single_pair exec/system_failures join/cpu_join_kinds join/cpu_join_random mesh/delaunay \
	nearest/nearest solid/in_solid solid/overlap solid/position

.PHONY: core-test core-test-quick core-test-asan core-test-tsan core-test-valgrind
# The objects under test are those of the extension, except with OpenMP.
core-test: $(call core_bins,$(if $(filter openmp,$(PARALLEL)),openmp,quick)) $(addprefix $(BUILD)/small/,$(SMALL)) \
		$(addprefix $(BUILD)/$(if $(filter openmp,$(PARALLEL)),core,openmp)/,$(THREADED))
	@test/core/run $^
# A tenth of the sizes
core-test-quick: $(call core_bins,quick)
	@RB_TEST_SCALE=$${RB_TEST_SCALE:-0.1} test/core/run $^
core-test-asan: $(call core_bins,asan)
	@UBSAN_OPTIONS=print_stacktrace=1 RB_TEST_SCALE=$${RB_TEST_SCALE:-0.1} test/core/run $^
# The C library is not instrumented, so races within it are not reported.
core-test-tsan: $(call core_bins,tsan)
	@TSAN_OPTIONS="halt_on_error=1 second_deadlock_stack=1" RB_TEST_SCALE=$${RB_TEST_SCALE:-0.1} test/core/run $^
core-test-valgrind: $(call core_bins,valgrind)
	@RUNNER='valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite' test/core/run $^

# ---- line coverage: which lines of src the tests execute ----

# make coverage PARTS='core regress tap': the C tests at a tenth of their sizes, the topics in one mode, TAP scripts.  The
# programs are those of the quick build, with instrumented objects.
PARTS ?= core
COVERAGE_CFLAGS = -O1 --coverage -fprofile-update=prefer-atomic
COVERAGE_OBJS = $(patsubst %.c,$(BUILD)/coverage/%.o,$(CORE_SRC) $(PG_SRC))

.PHONY: coverage
coverage: $(addprefix $(BUILD)/coverage/test/,$(CORE_TESTS)) $(BUILD)/coverage/redblue.so all
	@PROGRAMS='$(addprefix $(BUILD)/coverage/test/,$(CORE_TESTS))' test/coverage $(PARTS)
$(patsubst %.c,$(BUILD)/coverage/%.o,$(CORE_SRC)): $(BUILD)/coverage/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CORE_CFLAGS) $(COVERAGE_CFLAGS) -fPIC -MMD -MP -c -o $@ $<
$(patsubst %.c,$(BUILD)/coverage/%.o,$(PG_SRC)): $(BUILD)/coverage/%.o: %.c $(BUILD)/server
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(COVERAGE_CFLAGS) -isystem $(shell $(PG_CONFIG) --includedir-server) $(CPPFLAGS) -c -o $@ $<
$(addprefix $(BUILD)/coverage/test/,$(CORE_TESTS)): $(BUILD)/coverage/test/%: $(BUILD)/quick/test/core/%.o $(patsubst %.c,$(BUILD)/quick/%.o,$(TEST_HELPERS)) \
		$(patsubst %.c,$(BUILD)/coverage/%.o,$(CORE_SRC))
	@mkdir -p $(@D)
	$(CC) $(CORE_CFLAGS) --coverage -o $@ $^ $(CORE_LIBS)
$(BUILD)/coverage/redblue.so: $(COVERAGE_OBJS)
	$(CC) --coverage -shared -o $@ $^ $(SHLIB_LINK)
-include $(COVERAGE_OBJS:.o=.d)

# ---- fuzzing: a harness searches (libFuzzer), or replays its corpus (with a main of its own) ----

$(BUILD)/fuzz/%: test/fuzz/%.c $(CORE_SRC) $(CORE_H) $(TEST_HELPERS)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(filter-out -O3,$(CORE_CFLAGS)) -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		-Itest/core -o $@ $< $(CORE_SRC) $(TEST_HELPERS) $(CORE_LIBS)
$(BUILD)/asan/fuzz_%: $(BUILD)/asan/test/fuzz/fuzz_%.o $(BUILD)/asan/test/fuzz/replay.o $(call core_objs,asan)
	$(CC) $(CORE_CFLAGS) $(ASAN_CFLAGS) -o $@ $^ $(CORE_LIBS)

.PHONY: fuzz fuzz-replay
# Each harness searches for FUZZ_SECONDS.  New inputs go to build/, not into the corpus.
fuzz: $(addprefix $(BUILD)/fuzz/,$(FUZZERS))
	@for f in $(FUZZERS); do \
		mkdir -p $(BUILD)/fuzz/corpus/$$f && \
		$(BUILD)/fuzz/$$f -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=$(BUILD)/fuzz/ \
			$(BUILD)/fuzz/corpus/$$f test/fuzz/corpus/$${f#fuzz_} || exit 1; done
fuzz-replay: $(addprefix $(BUILD)/asan/,$(FUZZERS))
	@for f in $(FUZZERS); do $(BUILD)/asan/$$f test/fuzz/corpus/$${f#fuzz_} || exit 1; done

# Generator of volumetric meshes, for tests and the demo
$(BUILD)/volmesh: test/bench/volmesh.c
	@mkdir -p $(@D)
	$(CC) -std=gnu99 -O2 $(EXACT_CFLAGS) -o $@ $< -lm

# Times of tetrahedralizations
$(BUILD)/mesh-bench: test/bench/mesh.c $(patsubst %.c,$(BUILD)/core/%.o,$(CORE_SRC))
	@mkdir -p $(@D)
	$(CC) $(CORE_CFLAGS) -o $@ $^ $(CORE_LIBS)

# Library that refuses memory and threads to a tested server
$(BUILD)/refuse.so: test/t/refuse.c
	@mkdir -p $(@D)
	$(CC) -std=gnu99 -O2 $(WARN_CFLAGS) -shared -fPIC -o $@ $< -ldl -pthread

# Extension that returns other rows for some tables, for tests.  The server's headers need the compiler's default standard.
$(BUILD)/serve_rows.so: test/t/serve_rows.c src/pg/base/compat.h
	@mkdir -p $(@D)
	$(CC) -O2 $(WARN_CFLAGS) -Wno-unused-parameter -Isrc -isystem $(shell $(PG_CONFIG) --includedir-server) -shared -fPIC -o $@ $<

# Fake device for tests: the backend's file, which uses the CPU
$(BUILD)/fake/redblue_cuda.so: test/t/fake_device.c $(CORE_SRC:.c=.o)
	@mkdir -p $(@D)
	$(CC) $(CORE_CFLAGS) -fPIC -shared -o $@ $^ $(CORE_LIBS)

# Generator of boxes and of lines of a map, and checksums of pairs
$(BUILD)/boxes: test/bench/boxes.c test/bench/workload.c test/bench/workload.h
	@mkdir -p $(@D)
	$(CC) $(CORE_CFLAGS) -o $@ $(filter %.c,$^) -lm

# Tetrahedra of a file, and their time; with refinement
$(BUILD)/cdt $(BUILD)/refine: $(BUILD)/%: $(BUILD)/core/test/bench/%.o $(addprefix $(BUILD)/core/test/bench/,plc_input.o tets_output.o) \
		$(patsubst %.c,$(BUILD)/core/%.o,$(CORE_SRC))
	$(CC) $(CORE_CFLAGS) -o $@ $^ $(CORE_LIBS)
-include $(wildcard $(BUILD)/core/test/bench/*.d)

# ---- packages ----

DIST_VERSION = $(shell sed -n 's/^default_version = .\(.*\)./\1/p' redblue.control)
DIST = redblue-$(DIST_VERSION)

.PHONY: dist dist-check deb test-packages
# The committed state in one folder, for PGXN
dist:
	@test/pgxn
	@git diff --quiet HEAD || echo "redblue: the zip does not contain uncommitted changes"
	git archive --format=zip --prefix=$(DIST)/ -o $(DIST).zip HEAD
	@test/pgxn $(DIST).zip
# Debian packages of the committed state, in build/deb; with nvcc also the package for NVIDIA GPUs
deb:
	@test/deb
# The packages are installed in a clean root, used, and removed.
test-packages:
	@test/packages
# META.json follows the specification, and make uninstall removes what make install writes.
dist-check:
	@test/pgxn
	@test/uninstall

# ---- format and layers ----

FORMATTED = $(sort $(wildcard src/*/*.[ch] src/*/*/*.[ch] cuda/*.cu cuda/*.cuh cuda/*.h test/*/*.[ch] test/core/*/*.c test/core/*/*/*.c \
	test/cuda/*.cu test/bench/*.cpp))

.PHONY: format format-check layers circles
format:
	$(CLANG_FORMAT) -i $(FORMATTED)
format-check:
	@$(CLANG_FORMAT) --dry-run --Werror --ferror-limit=1 $(FORMATTED)

# Dependencies have one direction: postgres.h only below src/pg, the CUDA runtime only below cuda.  Differences between
# major versions of PostgreSQL are in one file.
layers:
	@if grep -rnE 'include.*(postgres|fmgr)\.h' $(wildcard src/core src/mesh src/refine cuda test/core test/fuzz); then \
		echo "layers: only src/pg may include headers of PostgreSQL"; exit 1; fi
	@if grep -rnE 'cuda_runtime|cudaMalloc' $(wildcard src test/core test/fuzz); then \
		echo "layers: only cuda may use CUDA"; exit 1; fi
	@if grep -rn PG_VERSION_NUM src --include='*.[ch]' | grep -v '^src/pg/base/compat.h:'; then \
		echo "layers: only src/pg/base/compat.h may depend on major versions of PostgreSQL"; exit 1; fi
	@for f in $(notdir $(wildcard src/*/*.[ch] src/*/*/*.[ch] cuda/*.cu cuda/*.cuh)); do \
		grep -qw -- "$$f" CONTRIBUTING.md || { echo "layers: $$f is not on the map of CONTRIBUTING.md"; exit 1; }; done
	@if [ -n '$(STRAY_TESTS)' ]; then echo 'layers: no file of src has the name of test/core/$(firstword $(STRAY_TESTS)).c'; exit 1; fi
	@awk -f sql/src/generate.awk sql/src/redblue.sql.in | cmp - $(SCRIPT) || \
		{ echo "layers: $(SCRIPT) is not what make script writes"; exit 1; }
	@test/prose
	@test/tools
	@echo "layers: in order"

# Neither files nor folders depend on each other in a cycle, and each function is reachable from an entry point.
circles: $(OBJS) $(if $(shell command -v $(NVCC) 2>/dev/null),$(CUDA_OBJS))
	@test/circles $^
	@test/reach $(OBJS)

# ---- whole runs ----

.PHONY: test test-all test-long test-qgis demo bench bench-rows bench-reading bench-stops faces-check readme
# Every feature once, in minutes
test:
	@test/run quick
# Every test
test-all:
	@test/run all
# Also the largest meshes and crowds, which take minutes each and gigabytes of data; other servers, if REDBLUE_PG_SOURCES
# or REDBLUE_PG_CONFIGS names some (test/versions)
test-long:
	@REDBLUE_LONG=1 test/run all
# Layers of doc/recipes.md in QGIS, if it is installed; PICTURES=doc updates the pictures of the pages.
test-qgis:
	@PICTURES='$(PICTURES)' CITY='$(CITY)' test/qgis/run
demo:
	@test/demo/run
bench:
	@test/bench/run
# Costs of rows that are read and returned, and the join tax
bench-rows:
	@test/bench/rows
# Time to read two tables into a join, compared with a SELECT
bench-reading:
	@test/bench/reading
# Time in which canceled statements stop, on an idle machine
bench-stops:
	@test/bench/stops
# Comparison of the triangulation of faces with CGAL, if its headers are installed
faces-check:
	@test/bench/faces.sh
# Generated tables of README.md, from a new run
readme:
	@test/readme
