export interface Item { price: number; count: number; name?: string }

export class CartError extends Error {
  constructor(message: string, options?: any) {
    super(message, options);
    this.name = "CartError";
  }
}

function priceOf(item: Item): number {
  if (item.price < 0) {
    throw new CartError("negative price of " + item.name);
  }
  return item.price * item.count;
}

export class Cart {
  items: Item[] = [];
  add(item: Item) {
    this.items.push(item);
    return this;
  }
  total(): number {
    return this.items
      .map((item) => priceOf(item))
      .reduce((a, b) => a + b, 0);
  }
  async checkout(currency: string): Promise<number> {
    await new Promise((r) => setTimeout(r, 1));
    const sum = this.total();
    return sum;
  }
  get first(): string {
    return this.items[0].name!.toUpperCase();
  }
}

export async function pay(cart: Cart) {
  try {
    return await cart.checkout("EUR");
  } catch (cause) {
    throw new Error("payment failed", { cause });
  }
}

export function bad(): Cart {
  return new Cart().add({ price: -1, count: 2, name: "glove" });
}

export function many() {
  return Promise.all([pay(bad()), bad().checkout("USD")]);
}

export function every() {
  return Promise.any([pay(bad()), bad().checkout("USD")]);
}

export function callback(f: (n: number) => void) {
  [3, 1, 2].sort((a, b) => a - b).forEach((n) => {
    if (n > 1) f(n);
  });
}
