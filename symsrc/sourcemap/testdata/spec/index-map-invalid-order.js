//# sourceMappingURL=index-map-invalid-order.js.map
