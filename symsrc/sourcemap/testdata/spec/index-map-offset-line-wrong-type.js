//# sourceMappingURL=index-map-offset-line-wrong-type.js.map
