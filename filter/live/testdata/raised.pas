{ Writes its mappings, and ends by an exception or a fault. }
program raised;
{$mode objfpc}
uses SysUtils, Classes;

type
  TVisit = procedure(n: integer);

var
  sum: integer;
  scene: string;

procedure step(n: integer; visit: TVisit);
begin
  if n = 0 then
    raise Exception.Create('at the end');
  visit(n);
  step(n - 1, visit);
  sum := sum + n;
end;

procedure add(n: integer);
var
  p: ^integer;
begin
  sum := sum + n;
  if (n = 1) and (scene = 'called') then
    raise Exception.Create('in a visit');
  p := nil;
  if (n = 1) and (scene = 'fault') then
    p^ := sum;
end;

var
  maps: TFileStream;
  buffer: array[0..65535] of char;
  count: longint;

begin
  scene := ParamStr(1);
  maps := TFileStream.Create('/proc/self/maps', fmOpenRead or fmShareDenyNone);
  repeat
    count := maps.Read(buffer, SizeOf(buffer));
    FileWrite(StdErrorHandle, buffer, count);
  until count = 0;
  step(4, @add);
  sum := sum + 1;
end.
