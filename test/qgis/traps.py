# Tests each row of the table in doc/recipes.md on how QGIS treats views, keys, types and SRIDs.
import os
import time

from qgis.core import QgsApplication, QgsCoordinateReferenceSystem, QgsCoordinateTransform, QgsProject, QgsRectangle, QgsWkbTypes

import draw
from qgis_layer import key_of, layer, ok, same, sql

OBJECTS = """
CREATE VIEW t_view AS SELECT qid, a, b, geom FROM contact;
CREATE VIEW t_keys AS SELECT qid, 'pair ' || qid AS name, md5(qid::text)::uuid AS code, a, b, geom FROM contact;
CREATE MATERIALIZED VIEW t_stored AS SELECT qid, geom FROM contact;
CREATE MATERIALIZED VIEW t_indexed AS SELECT qid, geom FROM contact;
CREATE UNIQUE INDEX ON t_indexed (qid);
CREATE FUNCTION t_pairs() RETURNS TABLE (a bigint, b bigint, relation text) LANGUAGE plpgsql STABLE AS $$
BEGIN
	RAISE LOG 'the join of the live view runs';
	RETURN QUERY SELECT * FROM redblue_solid_pairs('building', 'building');
END $$;
CREATE VIEW t_live AS SELECT row_number() OVER (ORDER BY a, b)::int AS qid, p.a, p.b, geom FROM t_pairs() p JOIN building_map ON gid = p.a WHERE p.a < p.b;
CREATE VIEW t_slow AS SELECT gid, geom FROM building_map, (SELECT pg_sleep(1) OFFSET 0) s;
CREATE MATERIALIZED VIEW t_srid_0 AS SELECT qid, ST_SetSRID(geom, 0)::geometry(MultiLineStringZ) AS geom FROM contact;
CREATE MATERIALIZED VIEW t_srid_wrong AS SELECT qid, ST_SetSRID(geom, 25833)::geometry(MultiLineStringZ, 25833) AS geom FROM contact;
CREATE MATERIALIZED VIEW t_srid_mixed AS SELECT qid, CASE WHEN a % 2 = 0 THEN ST_Transform(geom, 25833) ELSE geom END AS geom FROM contact;
CREATE MATERIALIZED VIEW t_untyped AS SELECT qid, geom::geometry FROM contact;
CREATE MATERIALIZED VIEW t_untyped_empty AS SELECT qid, geom::geometry FROM contact WHERE false;
CREATE MATERIALIZED VIEW t_typed_empty AS SELECT qid, geom FROM contact WHERE false;
CREATE MATERIALIZED VIEW t_mixed AS
SELECT c.qid, redblue_intersection(a.geom, b.geom) AS geom FROM contact c JOIN building a ON a.gid = a JOIN building b ON b.gid = b;
CREATE MATERIALIZED VIEW t_collection AS SELECT qid, ST_ForceCollection(geom)::geometry(GeometryCollectionZ, 25832) AS geom FROM contact;
CREATE MATERIALIZED VIEW t_surface AS SELECT gid, geom::geometry(PolyhedralSurfaceZ, 25832) FROM building;
CREATE MATERIALIZED VIEW t_tin AS SELECT 1 AS gid, 'SRID=25832; TIN Z (((0 0 0, 1 0 0, 0 1 0, 0 0 0)), ((1 0 0, 1 1 0, 0 1 0, 1 0 0)))'::geometry(TINZ, 25832) AS geom;
CREATE MATERIALIZED VIEW t_triangle AS SELECT 1 AS gid, 'SRID=25832; TRIANGLE Z ((0 0 0, 1 0 0, 0 1 0, 0 0 0))'::geometry(TriangleZ, 25832) AS geom;
CREATE MATERIALIZED VIEW t_vertical AS SELECT gid, 'SRID=25832; POLYGON Z ((0 0 0, 9 4 0, 9 4 5, 0 0 5, 0 0 0))'::geometry(PolygonZ, 25832) AS geom FROM generate_series(1, 1) AS gid;
CREATE MATERIALIZED VIEW t_null AS SELECT qid, CASE WHEN relation = 'touches' THEN geom END::geometry(MultiLineStringZ, 25832) AS geom FROM contact;
CREATE MATERIALIZED VIEW t_empty AS
SELECT qid, outlines(CASE WHEN relation = 'touches' THEN geom ELSE ST_SetSRID('POINT Z (1 1 1)'::geometry, 25832) END)::geometry(MultiLineStringZ, 25832) AS geom FROM contact
"""


def shown(made):
    return sum(feature.hasGeometry() for feature in made.getFeatures())


def kind(made):
    return QgsWkbTypes.displayString(made.wkbType())


def keys(said):
    for name in ('t_view', 't_stored'):
        said.clear()
        ok(not layer(name).isValid(), name + ': refused without a key')
        ok(any('no primary key' in text for text in said), name + ': QGIS says that it has no key', *said)
        same(key_of(layer(name, 'qid')), ['qid'], name + ': the key that is named is taken')
    same(key_of(layer('t_indexed')), ['qid'], 't_indexed: the unique index is found')
    ok(not layer('(SELECT * FROM contact)').isValid(), 'a query: refused without a key')
    rows = layer('contact').featureCount()
    for key in ('name', 'code', 'a,b'):
        made = layer('t_keys', key)
        features = list(made.getFeatures())
        same(len({feature.id() for feature in features}), rows, 'key %s: as many ids as rows' % key)
        same(made.getFeature(features[7].id()).attributes(), features[7].attributes(), 'key %s: a row is found by it' % key)
    # Duplicate keys
    ok(not layer('t_view', 'a', estimated=False).isValid(), 'duplicates in the key: refused without estimated metadata')
    made = layer('t_view', 'a')
    ok(made.isValid(), 'duplicates in the key: accepted with estimated metadata')
    features = list(made.getFeatures())
    same(len(features), rows, '... all rows come')
    ids = [feature.id() for feature in features]
    ok(len(set(ids)) < rows, '... with the same ids')
    ok(any(made.getFeature(feature.id()).attributes() != feature.attributes() for feature in features), '... so another row is found by an id')


def runs_of_live_view():
    with open(os.environ['SERVER_LOG'], errors='replace') as log:
        return log.read().count('LOG:  the join of the live view runs')


def live():
    before = runs_of_live_view()
    made = layer('t_live', 'qid')
    ok(made.isValid(), 'a live view: a layer')
    opened = runs_of_live_view() - before
    ok(opened >= 1, 'a live view: the join runs while it is opened', opened)
    counts = []
    for _ in range(3):
        before = runs_of_live_view()
        draw.draw([(made, {'rules': [('', draw.fill(draw.GREY, draw.RED))]})], {'size': (100, 100), 'extent': QgsRectangle(691000, 5335000, 691050, 5335050)})
        counts.append(runs_of_live_view() - before)
    ok(min(counts) >= 1, 'a live view: the join runs for each picture', counts)
    before = runs_of_live_view()
    made.getFeature(next(made.getFeatures()).id())
    found = runs_of_live_view() - before
    ok(found >= 2, 'a live view: the join runs for a row that is looked at', found)
    print('# runs of the join: %d to open, %s for a picture, %d for two requests of rows' % (opened, counts, found))


    # A drawing that is abandoned
    slow = layer('t_slow', 'gid')
    job = draw.job([slow], {'size': (100, 100), 'extent': QgsRectangle(690980, 5334999, 691133, 5335106)})
    job.start()
    time.sleep(0.2)
    began = time.monotonic()
    job.cancel()
    ok(time.monotonic() - began > 0.4, 'a live view: a drawing that is given up waits for the join', time.monotonic() - began)


def srids():
    made = layer('t_srid_0', 'qid')
    same((made.isValid(), made.crs().isValid(), shown(made)), (True, False, layer('contact').featureCount()), 'SRID 0: a layer without a CRS')
    right, wrong = layer('contact', 'qid'), layer('t_srid_wrong', 'qid')
    ok(wrong.isValid(), 'a wrong SRID: a layer')
    to_degrees = [QgsCoordinateTransform(made.crs(), QgsCoordinateReferenceSystem('EPSG:4326'), QgsProject.instance()).transform(made.extent().center())
                  for made in (right, wrong)]
    ok(abs(to_degrees[1].x() - to_degrees[0].x() - 6) < 1e-6 and abs(to_degrees[1].y() - to_degrees[0].y()) < 1e-6, 'a wrong SRID: six degrees off', *to_degrees)
    ok(not layer('t_srid_mixed', 'qid').isValid(), 'two SRIDs in a column: refused')
    made = layer('t_srid_mixed', 'qid', wkb_type=QgsWkbTypes.MultiLineStringZ, srid=25832)
    ok(made.isValid() and 0 < shown(made) < right.featureCount(), 'two SRIDs in a column, one named: rows of the other are missing', shown(made))


def types():
    rows = layer('contact', 'qid').featureCount()
    made = layer('t_untyped', 'qid')
    same((kind(made), made.crs().authid(), shown(made)), ('MultiLineStringZ', 'EPSG:25832', rows), 'no declared type: found in the rows')
    ok(not layer('t_untyped_empty', 'qid').isValid(), 'no declared type and no rows: refused')
    same(kind(layer('t_typed_empty', 'qid')), 'MultiLineStringZ', 'a declared type and no rows: a layer')
    ok(not layer('t_mixed', 'qid').isValid(), 'several types: refused')
    counts = [shown(layer('t_mixed', 'qid', wkb_type=wanted, srid=25832)) for wanted in (QgsWkbTypes.LineStringZ, QgsWkbTypes.PolygonZ)]
    ok(min(counts) > 0 and sum(counts) < rows, 'several types, one named: rows of others, and collections, are missing', counts, rows)
    made = layer('t_collection', 'qid')
    image = draw.draw([(made, None)], {'size': (300, 300), 'extent': layer('contact').extent()})
    same((made.isValid(), made.crs().isValid(), draw.count(image, draw.PAPER)), (True, False, 300 * 300), 'collections: a layer without a CRS, of which nothing is drawn')
    for name, wanted in (('building', 'MultiPolygonZ'), ('t_surface', 'MultiPolygonZ'), ('t_tin', 'MultiPolygonZ'), ('t_triangle', 'PolygonZ')):
        made = layer(name, 'gid')
        same([kind(made), shown(made)], [wanted] + sql('SELECT count(*) FROM ' + name)[0], name + ': comes as ' + wanted)
    made = layer('t_vertical', 'gid')
    for width, least in ((0, 0), (0.5, 50)):
        style = draw.fill(draw.YELLOW, draw.RED, width)
        if not width:
            style['outline_style'] = 'no'
        image = draw.draw([(made, {'rules': [('', style)]})], {'size': (200, 200)})
        n = [draw.count(image, colour) for colour in (draw.YELLOW, draw.RED)]
        ok(n[0] == 0 and n[1] >= least, 'a vertical face: %s' % ('its outline' if width else 'nothing without an outline'), n)
    for name in ('t_null', 't_empty'):
        made = layer(name, 'qid')
        with_shape = sum(not feature.geometry().isEmpty() for feature in made.getFeatures())
        ok(0 < with_shape < sum(1 for _ in made.getFeatures()) == rows, name + ': rows without a shape', with_shape, rows)


def check():
    said = []
    QgsApplication.messageLog().messageReceived.connect(lambda text, tag, level: said.append(text))
    for statement in (text for text in OBJECTS.split(';\nCREATE')):
        sql(statement if statement.lstrip().startswith('CREATE') else 'CREATE' + statement)
    sql('ANALYZE')
    keys(said)
    live()
    srids()
    types()
