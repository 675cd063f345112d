//# sourceMappingURL=sources-and-sources-content-both-null.js.map
