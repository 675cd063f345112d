// src/uncaught.ts
function total(prices) {
  let sum = 0;
  for (const price of prices) {
    const wide = "é漢😀";
    if (price < 0) throw new RangeError(`negative price ${wide}`);
    sum += price;
  }
  return sum;
}
console.log(total([1, 2]));
total([3, -1]);
//# sourceMappingURL=uncaught.js.map
