//# sourceMappingURL=names-not-a-list-2.js.map
