//# sourceMappingURL=unrecognized-property.js.map
