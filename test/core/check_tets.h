/*
 * check_tets.h
 *	  Checks a tetrahedralization against its PLC by rb_check_mesh.
 */
#ifndef CHECK_TETS_H
#define CHECK_TETS_H

#include "check.h"
#include "mesh/check/check.h"

/* Returns the input of rb_check_mesh for a tetrahedralization of the PLC. */
static inline rb_check_input
check_input_of_tets(const rb_plc *from, rb_keep keep, const rb_tets *t)
{
	return (rb_check_input){.npoints = t->npoints,
							.ntets = t->ntets,
							.nfaces = t->nfaces,
							.nedges = t->nedges,
							.nsegments = t->nsegments,
							.points = t->points,
							.kind = t->kind,
							.parent = t->parent,
							.tets = (const uint32_t(*)[4]) t->tets,
							.region = t->region,
							.faces = (const uint32_t(*)[3]) t->faces,
							.face_facet = t->face_facet,
							.edges = (const uint32_t(*)[2]) t->edges,
							.edge_segment = t->edge_segment,
							.segments = (const uint32_t(*)[2]) t->segments,
							.plc = from,
							.keep = keep,
							.most = 2};
}

/*
 * Reports the faults of a mesh; `forgiven` is a kind of fault that does not count, or
 * RB_FAULT_KINDS. Returns the volume of the mesh.
 */
static inline double
check_tets(rb_memory *memory, const char *name, const rb_plc *from, rb_keep keep, const rb_tets *t,
		   rb_fault_kind forgiven)
{
	const rb_check_input in = check_input_of_tets(from, keep, t);
	rb_check_report report;
	rb_context ctx;
	rb_status status;
	double volume;

	rb_context_init(&ctx, memory);
	status = rb_check_mesh(&ctx, &in, &report);
	CHECK(status == RB_OK, "%s: the checker says %d", name, status);
	CHECK(report.faults == (forgiven < RB_FAULT_KINDS ? report.count[forgiven] : 0),
		  "%s: %lu faults", name, (unsigned long) report.faults);
	for (uint32_t i = 0; i < report.nlist; i++)
		if (report.list[i].kind != forgiven)
			printf("# %s: %s: %u %u %u, %g\n", name, rb_fault_text(report.list[i].kind),
				   report.list[i].a, report.list[i].b, report.list[i].c, report.list[i].amount);
	volume = report.volume;
	rb_check_report_free(memory, &report);
	return volume;
}

#endif /* CHECK_TETS_H */
