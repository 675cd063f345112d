'use strict';

class CartError extends Error {
    constructor(message, options) {
        super(message, options);
        this.name = "CartError";
    }
}
function priceOf(item) {
    if (item.price < 0) {
        throw new CartError("negative price of " + item.name);
    }
    return item.price * item.count;
}
class Cart {
    constructor() {
        this.items = [];
    }
    add(item) {
        this.items.push(item);
        return this;
    }
    total() {
        return this.items
            .map((item) => priceOf(item))
            .reduce((a, b) => a + b, 0);
    }
    async checkout(currency) {
        await new Promise((r) => setTimeout(r, 1));
        const sum = this.total();
        return sum;
    }
    get first() {
        return this.items[0].name.toUpperCase();
    }
}
async function pay(cart) {
    try {
        return await cart.checkout("EUR");
    }
    catch (cause) {
        throw new Error("payment failed", { cause });
    }
}
function bad() {
    return new Cart().add({ price: -1, count: 2, name: "glove" });
}
function callback(f) {
    [3, 1, 2].sort((a, b) => a - b).forEach((n) => {
        if (n > 1)
            f(n);
    });
}

pay(bad()).catch((e) => {
    console.log(e.stack);
    console.log(e.cause.stack);
    try {
        callback(() => { bad().total(); });
    }
    catch (x) {
        console.log(x.stack);
    }
});
//# sourceMappingURL=bundle.js.map
