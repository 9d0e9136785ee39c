# The pictures of doc/recipes.md: which layers, in which colours, and how QGIS draws them.
from qgis.core import (QgsDropShadowEffect, QgsEffectStack, QgsDrawSourceEffect, QgsFillSymbol, QgsLineSymbol, QgsMapRendererParallelJob, QgsMapSettings,
                       QgsMarkerSymbol, QgsRectangle, QgsRuleBasedRenderer, QgsSingleSymbolRenderer, QgsWkbTypes)
from qgis.PyQt.QtCore import QSize
from qgis.PyQt.QtGui import QColor, QImage

GREY, RED, YELLOW, BLUE, PAPER = '#b4b8bd', '#d7191c', '#f5c518', '#2b6cb0', '#f4f3ef'
SYMBOLS = {QgsWkbTypes.PointGeometry: QgsMarkerSymbol, QgsWkbTypes.LineGeometry: QgsLineSymbol, QgsWkbTypes.PolygonGeometry: QgsFillSymbol}


def fill(colour, edge, width=0.15):
    return {'color': colour, 'outline_color': edge, 'outline_width': str(width), 'joinstyle': 'round'}


def line(colour, width):
    return {'line_color': colour, 'line_width': str(width), 'capstyle': 'round', 'joinstyle': 'round'}


# rules: (expression, symbol); 'colours': of each so many pixels at least
PICTURES = {
    'clash': {
        'size': (1000, 700),
        'layers': [
            ('building_map', {'shadow': True, 'rules': [('not crosses', fill(GREY, '#8a8f95')), ('crosses', fill(YELLOW, '#a07f00'))]}),
            ('pipeline', {'rules': [('', line(BLUE, 0.8))]}),
            ('contact', {'rules': [('', line(RED, 0.6))]}),
        ],
        'colours': {GREY: 20000, YELLOW: 1000, RED: 500, BLUE: 500},
    },
    'section': {
        'size': (1000, 500),
        'layers': [
            ('section_hole', {'rules': [('', line(GREY, 0.5))]}),
            ('section_ore', {'rules': [('', line(RED, 0.7))]}),
            ('ore_stretch', {'rules': [('', line(YELLOW, 1.2))]}),
        ],
        'colours': {GREY: 2000, YELLOW: 2000, RED: 1000},
    },
    'horizon': {
        'size': (800, 560),
        'layers': [
            ('horizon_map', {'rules': [('not cut', fill(GREY, '#a2a7ad', 0.1)), ('cut', fill(YELLOW, '#a07f00', 0.1))]}),
            ('self_cut', {'rules': [('', line(RED, 0.8))]}),
        ],
        'colours': {GREY: 20000, YELLOW: 1000, RED: 200},
    },
}


def renderer(layer, style):
    make = SYMBOLS[layer.geometryType()]
    root = QgsRuleBasedRenderer.Rule(None)
    for expression, properties in style['rules']:
        root.appendChild(QgsRuleBasedRenderer.Rule(make.createSimple(properties), filterExp=expression))
    made = QgsRuleBasedRenderer(root)
    if style.get('shadow'):
        shadow, stack = QgsDropShadowEffect(), QgsEffectStack()
        shadow.setOffsetDistance(1.2)
        shadow.setOffsetAngle(135)
        shadow.setBlurLevel(1.6)
        shadow.setOpacity(0.45)
        stack.appendEffect(shadow)
        stack.appendEffect(QgsDrawSourceEffect())
        made.setPaintEffect(stack)
    return made


def draw(layers, settings):
    """layers and their styles from below to above; a layer whose style is None stays as QGIS made it"""
    extent = QgsRectangle()
    for layer, style in layers:
        if style:
            layer.setRenderer(renderer(layer, style))
        extent.combineExtentWith(layer.extent())
    extent.scale(1.03)
    map_settings = QgsMapSettings()
    map_settings.setLayers([layer for layer, _ in reversed(layers)])
    map_settings.setDestinationCrs(layers[0][0].crs())
    map_settings.setExtent(settings.get('extent', extent))
    map_settings.setOutputSize(QSize(*settings['size']))
    map_settings.setOutputDpi(settings.get('dpi', 110))
    map_settings.setBackgroundColor(QColor(PAPER))
    job = QgsMapRendererParallelJob(map_settings)
    job.start()
    job.waitForFinished()
    return job.renderedImage()


def count(image, colour):
    """pixels of just this colour"""
    image = image.convertToFormat(QImage.Format_RGB32)
    size = image.sizeInBytes()
    bits = image.constBits()
    bits.setsize(size)
    wanted = QColor(colour).rgb().to_bytes(4, 'little')
    data = bytes(bits)
    return sum(data[i:i + 4] == wanted for i in range(0, size, 4))
