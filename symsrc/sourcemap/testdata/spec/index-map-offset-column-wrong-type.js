//# sourceMappingURL=index-map-offset-column-wrong-type.js.map
