//# sourceMappingURL=wrong-type-2.js.map
