with Ada.Streams;           use Ada.Streams;
with Ada.Streams.Stream_IO;
with Ada.Command_Line;
with Ada.Text_IO;
with Ada.Unchecked_Conversion;
with System;

--  Writes its mappings, and ends by an exception: "fault" by one of the processor, all else by a check of the language.
procedure Raised is
   type Pointer is access all Integer;
   function To is new Ada.Unchecked_Conversion (System.Address, Pointer);

   Sum : Integer := 0;

   procedure Maps is
      use Ada.Streams.Stream_IO;
      File : File_Type;
      Data : Stream_Element_Array (1 .. 4096);
      Last : Stream_Element_Offset;
   begin
      Open (File, In_File, "/proc/self/maps");
      loop
         Read (File, Data, Last);
         for I in Data'First .. Last loop
            Ada.Text_IO.Put (Ada.Text_IO.Standard_Error, Character'Val (Data (I)));
         end loop;
         exit when Last < Data'Last;
      end loop;
   end Maps;

   procedure Load (From : Pointer);
   pragma No_Inline (Load);
   procedure Load (From : Pointer) is
   begin
      Sum := Sum + From.all;
      Sum := Sum * 3;
   end Load;

   procedure Step (N : Integer; Visit : not null access procedure (N : Integer));
   pragma No_Inline (Step);
   procedure Step (N : Integer; Visit : not null access procedure (N : Integer)) is
   begin
      if N > 0 then
         Visit (N);
         Step (N - 1, Visit);
      elsif Ada.Command_Line.Argument (1) = "fault" then
         Sum := Sum + 1;
         Load (To (System.Null_Address));
      else
         raise Constraint_Error with "at the end";
      end if;
      Sum := Sum + N;
   end Step;

   procedure Add (N : Integer) is
   begin
      Sum := Sum + N;
      if N = 1 and then Ada.Command_Line.Argument (1) = "called" then
         raise Program_Error with "in a visit";
      end if;
   end Add;
begin
   Maps;
   Step (4, Add'Access);
   Ada.Text_IO.Put_Line (Integer'Image (Sum));
end Raised;
