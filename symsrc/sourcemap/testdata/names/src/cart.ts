import { fail, type Money, later } from './lib';

export class Item<T extends object = {}> {
  #price: number;
  static count = 0;
  constructor(price: number, readonly tags?: T) {
    this.#price = price;
    if (price > 8) fail(`price ${price}`);
  }
  get price(): number {
    return this.#check(this.#price) + fail('get');
  }
  set price(v: number) {
    fail('set' + v);
  }
  #check(n: number): number {
    return n;
  }
  static of(n: number): Item<{ [key: string]: number }> {
    return fail('of' + n) && new this(n);
  }
  private total: (n: number) => number = (n) => {
    return fail('total' + n);
  };
  sum(): number {
    return this.total(1);
  }
}

export function shadow(total: number): number {
  const inner = function (total: number): number {
    const again = (total: number): number => {
      return fail('again' + total);
    };
    return 1 + again(total);
  };
  return 2 + inner(total);
}

export const typed: (n: number) => Money = (n) => {
  const deeper = <T,>(v: T): { v: T } | undefined => {
    if (fail('deeper')) return { v };
  };
  return { amount: deeper(n)!.v };
};

export async function wait(n: number): Promise<{ a: number }> {
  await later();
  return { a: await again(n) };
}

async function again(n: number): Promise<number> {
  await later();
  return fail('async' + n);
}

export function* steps(n: number): Generator<number, void, unknown> {
  yield n;
  yield fail('steps');
}

export const table = {
  method(n: number) {
    return fail('method' + n);
  },
  arrow: (n: number): number => fail('arrow' + n),
  plain: function (n: number): number {
    return fail('plain' + n);
  },
  get value(): number {
    return fail('value');
  },
};

export default function (n: number, after = fail('default' + n)): number {
  return after;
}

export const each = (list: number[]): number[] =>
  list.map((one) => one + fail('each'));

export const $dollar = (s: string): string => s.replace(/[`'"/{]/, () => fail('dollar {' + `${s} } \` ${[1].map((x) => `${x}`)}`));

export function größe(n: number): number {
  const 漢 = "漢😀", wert = () => fail("größe" + n + 漢);
  return wert() / 2;
}
